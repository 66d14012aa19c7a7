"""Streams and events of torch.cuda, implemented with those of the emulated driver."""

from __future__ import annotations

import ctypes
import threading
from typing import Any

import torch

from gpuemu.torch.driver import driver

_NON_BLOCKING = 1
_TIMED, _UNTIMED = 0, 2
_NOT_READY = 600


class Stream:
    """torch.cuda.Stream: a queue of kernels. Operators of torch run immediately, after all kernels."""

    def __init__(self, device: Any = None, priority: int = 0, **named: Any) -> None:
        self.device_index = index_of(device)
        self.device_type = 1
        self.priority = priority
        given = named.get("stream_ptr")
        if given is None:
            driver().use(self.device_index)
            given = driver().handle("cuStreamCreateWithPriority", _NON_BLOCKING, ctypes.c_int(priority))
        self.cuda_stream = given

    @property
    def device(self) -> torch.device:
        return torch.device("cuda", self.device_index)

    @property
    def stream_id(self) -> int:
        return self.cuda_stream

    @property
    def _as_parameter_(self) -> ctypes.c_void_p:
        return ctypes.c_void_p(self.cuda_stream)

    @staticmethod
    def is_capturing() -> bool:
        return False  # CUDA graphs of torch are rejected.

    def query(self) -> bool:
        return _is_ready("cuStreamQuery", self.cuda_stream)

    def synchronize(self) -> None:
        driver().call("cuStreamSynchronize", ctypes.c_void_p(self.cuda_stream))

    def wait_event(self, event: Event) -> None:
        event.wait(self)

    def wait_stream(self, stream: Stream) -> None:
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        event = event or Event()
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and (self.cuda_stream, self.device_index) == (other.cuda_stream, other.device_index)

    def __hash__(self) -> int:
        return hash((self.cuda_stream, self.device_index))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"

    def __enter__(self) -> Stream:
        _before.stack = [*getattr(_before, "stack", []), current_stream(self.device_index)]
        set_stream(self)
        return self

    def __exit__(self, *_: object) -> None:
        *_before.stack, before = _before.stack
        set_stream(before)


class ExternalStream(Stream):
    """torch.cuda.ExternalStream: a stream that another library created."""

    def __init__(self, stream_ptr: int, device: Any = None, **_: Any) -> None:
        super().__init__(device, stream_ptr=stream_ptr)


class Event:
    """torch.cuda.Event."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, external: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("gpuemu: events of several processes are not there: the emulated device belongs to one process")
        self.enable_timing = enable_timing
        self.cuda_event = 0
        self.device: torch.device | None = None

    def _made(self) -> ctypes.c_void_p:
        if not self.cuda_event:
            self.cuda_event = driver().handle("cuEventCreate", _TIMED if self.enable_timing else _UNTIMED)
        return ctypes.c_void_p(self.cuda_event)

    def record(self, stream: Stream | None = None) -> None:
        stream = stream or current_stream()
        self.device = stream.device
        driver().use(stream.device_index)
        driver().call("cuEventRecord", self._made(), ctypes.c_void_p(stream.cuda_stream))

    def wait(self, stream: Stream | None = None) -> None:
        stream = stream or current_stream()
        if self.cuda_event:
            driver().call("cuStreamWaitEvent", ctypes.c_void_p(stream.cuda_stream), self._made(), 0)

    def query(self) -> bool:
        return not self.cuda_event or _is_ready("cuEventQuery", self.cuda_event)

    def synchronize(self) -> None:
        if self.cuda_event:
            driver().call("cuEventSynchronize", self._made())

    def elapsed_time(self, end_event: Event) -> float:
        made = ctypes.c_float()
        driver().call("cuEventElapsedTime", ctypes.byref(made), self._made(), end_event._made())
        return made.value


_current = threading.local()
_before = threading.local()


def _is_ready(call: str, handle: int) -> bool:
    code = driver().code(call, ctypes.c_void_p(handle))
    if code and code != _NOT_READY:
        raise RuntimeError(f"CUDA error: {driver().text(code)}")
    return not code


def index_of(device: Any) -> int:
    """Returns the index of "cuda", "cuda:1", a torch.device or a number; the current device for None and whatever else torch takes
    for it."""
    if not isinstance(device, (int, str, torch.device)):
        return driver().device
    if isinstance(device, int):
        return device if device >= 0 else driver().device
    known = torch.device(device)
    if known.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {known}")
    return driver().device if known.index is None else known.index


def default_stream(device: Any = None) -> Stream:
    return Stream(device, stream_ptr=0)


def current_stream(device: Any = None) -> Stream:
    index = index_of(device)
    found: Stream | None = getattr(_current, "streams", {}).get(index)
    return found or default_stream(index)


def set_stream(stream: Stream | None) -> None:
    if stream is not None:
        _current.streams = {**getattr(_current, "streams", {}), stream.device_index: stream}


def raw_stream(device: int) -> int:
    """torch._C._cuda_getCurrentRawStream: the stream that Triton launches on."""
    return current_stream(device).cuda_stream


class stream_context:
    """torch.cuda.stream: `with torch.cuda.stream(s):`."""

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, *_: object) -> None:
        if self.stream is not None:
            self.stream.__exit__()
