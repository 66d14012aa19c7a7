"""Streams and events of a device."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library


class _Owned(library.Unique):
    """An object that the device created, identified by a number."""

    _destroy = ""
    _what = ""

    def __init__(self, device: Any, handle: int, is_ours: bool = True) -> None:
        self._device, self._handle, self._is_ours, self._was_closed = device, handle, is_ours, False

    @property
    def device(self) -> Any:
        """The device that it belongs to."""
        return self._device

    @property
    def is_closed(self) -> bool:
        """True after close(), or when the device is closed."""
        return self._was_closed or self._device.is_closed

    def _live(self) -> int:
        """Returns the number. Raises ReleasedError when it is closed."""
        if self._was_closed or self._device.is_closed:
            library.refuse_forked()
            raise errors.ReleasedError(f"the {self._what} of {self._device.name} is closed")
        return self._handle

    def close(self) -> None:
        """Releases it; work that was issued still completes. May be called twice."""
        if library.is_forked() or self.is_closed:
            self._was_closed = True
            return
        self._before_close()
        self._was_closed = True
        if self._is_ours:
            try:
                self._device._check(self._destroy, self._handle)
            except (errors.ReleasedError, errors.DeviceLostError):
                pass  # It was released with its device.

    def _before_close(self) -> None:
        """Does what must be done before closing; may raise an error."""

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if not is_finalizing() and hasattr(self, "_was_closed") and not self._was_closed:
            try:
                self.close()
            except errors.DeviceError:
                pass  # A destructor has nobody to report to.


class Stream(_Owned):
    """A queue of work that runs in order: Device.stream(), Device.default_stream. `with stream:` makes it the thread's current
    stream."""

    _destroy, _what = "gpuemu_stream_destroy", "stream"

    def __init__(self, device: Any, handle: int, is_ours: bool = True) -> None:
        super().__init__(device, handle, is_ours)
        self._graph: Any = None

    @property
    def handle(self) -> int:
        """gpuemu's number of the stream."""
        return self._handle

    @property
    def native(self) -> int:
        """The cudaStream_t. Raises UnsupportedError on the emulator."""
        self._live()
        if self._device.is_emulator:
            raise errors.UnsupportedError("a stream of the emulator has no cudaStream_t")
        return self._handle

    @property
    def is_capturing(self) -> bool:
        """True while a Graph captures the work issued to it."""
        return self._graph is not None

    def synchronize(self) -> None:
        """Waits for the issued work. Raises KernelError when a kernel failed."""
        self._live()
        self._refuse_capture("synchronize()")
        self._device._wait_for(self)

    def query(self) -> bool:
        """True if all issued work is done."""
        self._live()
        self._refuse_capture("query()")
        done = ctypes.c_uint32()
        self._device._check_using([self], self._device._check, "gpuemu_stream_query", self._handle, ctypes.byref(done))
        return bool(done.value)

    def record(self, event: Event | None = None) -> Event:
        """Records an event, a new one unless one is given, and returns it."""
        if event is not None and not isinstance(event, Event):
            raise TypeError(f"event is of type {type(event).__name__}, expected an Event or None")
        made = self._device.event() if event is None else event
        made.record(self)
        return made

    def wait(self, event: Event) -> None:
        """Makes later work wait for the latest record of the event."""
        if not isinstance(event, Event):
            raise TypeError(f"event is of type {type(event).__name__}, expected an Event")
        self._live()
        self._device._check_using([self, event], self._device._check, "gpuemu_event_wait", event._live_of(self._device), self._handle)
        if event._graph is not None and self._graph is None:
            event._graph._join(self)

    def _refuse_capture(self, what: str) -> None:
        graph = self._graph
        if graph is not None:
            graph._abort()
            raise errors.CaptureError(f"{what} waits for a stream that {graph.name} captures, whose work is not done; the capture is over: "
                                      "end it before results are asked for")  # fmt: skip

    def _before_close(self) -> None:
        if self._graph is not None:
            raise errors.InvalidArgumentError(f"the stream is captured by {self._graph.name}; end the capture before it is closed")
        if self._handle == 0:
            raise errors.InvalidArgumentError("the default stream is always there; it cannot be closed")
        self._device._forget_stream(self)

    def __enter__(self) -> Stream:
        self._live()
        self._device._push_stream(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        self._device._pop_stream()

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "captured" if self.is_capturing else "open"
        return f"<Stream {self._handle} of {self._device.name}, {state}>"


class DefaultStream(Stream):
    """The default stream, which exists as long as its device."""

    def __init__(self, device: Any) -> None:
        super().__init__(device, 0, is_ours=False)

    def __del__(self, is_finalizing: Any = None) -> None:
        """Does nothing: the default stream is neither created nor destroyed."""


class Event(_Owned):
    """A point in the work of a stream: Device.event()."""

    _destroy, _what = "gpuemu_event_destroy", "event"

    def __init__(self, device: Any, handle: int) -> None:
        super().__init__(device, handle)
        self._graph: Any = None

    def record(self, stream: Any = None) -> None:
        """Records the event: it is reached when everything issued to the stream so far is done."""
        self._live()
        chosen = self._device._stream(stream)
        self._device._check_using([self, chosen], self._device._check, "gpuemu_event_record", self._handle, chosen._live())
        self._graph = chosen._graph

    def synchronize(self) -> None:
        """Waits until it is reached. Raises KernelError when a kernel failed."""
        self._live()
        self._refuse_capture("synchronize()")
        self._device._check_using([self], self._device._wait, "gpuemu_event_synchronize", self._handle)

    def query(self) -> bool:
        """True if the latest record is reached, or there was none."""
        self._live()
        self._refuse_capture("query()")
        done = ctypes.c_uint32()
        self._device._check_using([self], self._device._check, "gpuemu_event_query", self._handle, ctypes.byref(done))
        return bool(done.value)

    def elapsed_ms(self, later: Event) -> float:
        """Returns milliseconds from this event to `later`. Raises InvalidArgumentError unless both are reached."""
        if not isinstance(later, Event):
            raise TypeError(f"later is of type {type(later).__name__}, expected an Event")
        self._live()
        milliseconds = ctypes.c_float()
        self._device._check_using([self, later], self._device._check, "gpuemu_event_elapsed_ms", self._handle, later._live_of(self._device),
                                  ctypes.byref(milliseconds))
        return milliseconds.value

    def _live_of(self, device: Any) -> int:
        handle = self._live()
        if self._device is not device:
            raise errors.InvalidArgumentError(f"the event is of {self._device.name}, expected one of {device._told_apart_from(self._device)}")
        return handle

    def _refuse_capture(self, what: str) -> None:
        graph, self._graph = self._graph, None
        if graph is not None and graph.is_capturing:
            graph._abort()
            raise errors.CaptureError(f"{what} asks for an event that {graph.name} captures; the capture is over")
        if graph is not None:
            raise errors.CaptureError(f"{what} asks for an event that was recorded in the capture of {graph.name}; record it again")

    def __repr__(self) -> str:
        return f"<Event {self._handle} of {self._device.name}{', closed' if self.is_closed else ''}>"
