"""A device of this process: opens it, manages its streams, and controls how its kernels are chosen and observed."""

from __future__ import annotations

import ctypes
import os
import pathlib
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import gpuemu.runtime.available as available
import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
import gpuemu.runtime.registrations as registrations
import gpuemu.runtime.structs as structs
from gpuemu.runtime.allocations import Allocations
from gpuemu.runtime.streams import DefaultStream, Event, Stream
from gpuemu.runtime.watching import DispatchLog, Policy, Profile, Range, policy_text

INT32_MAX = 2**31 - 1
_BACKENDS = ("auto", "cuda", "emulator")


class _OfThread(threading.local):
    """The state of each thread for a device."""

    streams: list[Stream] | None = None  # The last one is current.


class Device(Allocations):
    """A device of this process, with its own memory, streams and ops.

    backend: "cuda", "emulator", or "auto": a GPU if one answers. arch ("sm_80"), threads (blocks run at once), schedule_seed
    (determines the order between streams) and checks (names as in validation.sanitize) are for the emulator. folder: keeps
    compiled kernels between processes. policy: like that of set_policy. `with device:` makes it the thread's current device.
    """

    def __init__(self, backend: str = "auto", index: int = 0, *, arch: str | None = None, threads: int = 0, schedule_seed: int = 0,
                 folder: str | os.PathLike[str] | None = None, policy: Any = None, memory_limit_bytes: int | None = None,
                 checks: Sequence[str] | None = None) -> None:  # fmt: skip
        if not isinstance(backend, str):
            raise TypeError(f"backend is of type {type(backend).__name__}, expected one of {', '.join(_BACKENDS)}")
        if backend not in _BACKENDS:
            raise errors.InvalidArgumentError(f"no backend '{backend}', expected one of {', '.join(_BACKENDS)}")
        index = structs.whole("index", index, INT32_MAX)
        chosen = ("cuda" if available.devices("cuda") else "emulator") if backend == "auto" else backend
        for name, value in (("arch", arch), ("threads", threads or None), ("schedule_seed", schedule_seed or None), ("checks", checks)):
            if chosen == "cuda" and value is not None:
                raise errors.InvalidArgumentError(f"{name} is for the emulator, the device is cuda:{index}")
        available.insist_on(chosen, index)
        if folder is not None and not isinstance(folder, (str, os.PathLike)):
            raise TypeError(f"folder is of type {type(folder).__name__}, expected a path")
        options = structs.Options(
            struct_bytes=ctypes.sizeof(structs.Options), device=index, backend=chosen.encode(), sm=0 if arch is None else available.architecture(arch),
            threads=structs.whole("threads", threads, 2**32 - 1), schedule_seed=structs.whole("schedule_seed", schedule_seed),
            folder=None if folder is None else os.fsencode(folder),
            memory_limit_bytes=0 if memory_limit_bytes is None else max(structs.whole("memory_limit_bytes", memory_limit_bytes), 1),
        )  # fmt: skip
        super().__init__(library.Context(options, f"{chosen}:{index}"))
        self.backend, self.index, self.is_emulator = chosen, index, chosen == "emulator"
        self._watchers = 0  # Logs and profiles that record each call.
        self._choices = 0  # Changes with everything that may select another kernel for a call.
        self._local = _OfThread()
        self._infos: dict[str, Any] = {}
        self.default_stream = DefaultStream(self)
        found = available.properties()
        self._check("gpuemu_context_device", ctypes.byref(found))
        self.info = available.info_of(found)
        if checks is not None:
            self._set_checks(checks)
        registrations.attach(self)
        if policy is not None:
            self.set_policy(policy)

    def _set_checks(self, checks: Sequence[str]) -> None:
        if isinstance(checks, str) or not isinstance(checks, Iterable) or not all(isinstance(one, str) for one in checks):
            raise TypeError(f"checks is {checks!r}, expected a list of names, as validation.sanitize has them")
        self._check("gpuemu_checks_set", ",".join(checks).encode())

    # --- its life

    def close(self) -> None:
        """Waits for all work and frees everything of the device. May be called twice."""
        self._context.close()

    def __enter__(self) -> Device:
        self._insist()
        library.of_thread.devices.append(self)
        return self

    def __exit__(self, *raised: Any) -> None:
        library.of_thread.devices.pop()

    def __repr__(self) -> str:
        return f"<Device {self.name}, {self.info.name}, {self.info.architecture}{', closed' if self.is_closed else ''}>"

    def synchronize(self) -> None:
        """Waits for all streams. Raises KernelError when a kernel failed."""
        self._insist()
        self.current_stream()._refuse_capture("synchronize()")
        self._wait("gpuemu_context_synchronize")

    # --- streams and events

    def stream(self, *, priority: int = 0, non_blocking: bool = False) -> Stream:
        """Creates a stream. Lower priorities are more urgent; a non-blocking stream does not wait for the default stream."""
        made = ctypes.c_uint64()
        self._check("gpuemu_stream_create", structs.whole("priority", priority, INT32_MAX, -INT32_MAX), 1 if non_blocking else 0, ctypes.byref(made))
        return Stream(self, made.value)

    def event(self) -> Event:
        """Creates an event that was never recorded."""
        made = ctypes.c_uint64()
        self._check("gpuemu_event_create", ctypes.byref(made))
        return Event(self, made.value)

    def current_stream(self) -> Stream:
        """Returns the thread's current stream: that of the innermost `with stream:`, else the default stream."""
        stack = self._local.streams
        return stack[-1] if stack else self.default_stream

    def adopt_stream(self, handle: Any) -> Stream:
        """Wraps a stream of another owner, who destroys it: a cudaStream_t as an int, a torch.cuda.Stream, or any object with
        __cuda_stream__ or cuda_stream. Raises UnsupportedError on the emulator."""
        self._insist()
        found = handle
        if hasattr(handle, "__cuda_stream__"):
            told = handle.__cuda_stream__
            found = (told() if callable(told) else told)[1]
        elif hasattr(handle, "cuda_stream"):
            found = handle.cuda_stream
        if isinstance(found, bool) or not isinstance(found, int):
            raise TypeError(f"handle is of type {type(handle).__name__}, expected a cudaStream_t or an object with one")
        made = ctypes.c_uint64()
        self._check("gpuemu_stream_adopt", found, ctypes.byref(made))
        return Stream(self, made.value, is_ours=False) if made.value else self.default_stream

    def _stream(self, stream: Any) -> Stream:
        """Returns the stream for an argument `stream=`."""
        if stream is None:
            current = self.current_stream()
            if current._was_closed:
                current._live()
            return current
        if not isinstance(stream, Stream):
            if isinstance(stream, int) or hasattr(stream, "cuda_stream") or hasattr(stream, "__cuda_stream__"):
                return self.adopt_stream(stream)
            raise TypeError(f"stream is of type {type(stream).__name__}, expected a Stream or None")
        if stream.device is not self:
            raise errors.InvalidArgumentError(f"stream is of {stream.device.name}, expected one of {self._told_apart_from(stream.device)}")
        stream._live()
        return stream

    def _push_stream(self, stream: Stream) -> None:
        if self._local.streams is None:
            self._local.streams = []
        self._local.streams.append(stream)

    def _pop_stream(self) -> None:
        if self._local.streams:
            self._local.streams.pop()

    def _drop_stream(self, stream: Stream) -> None:
        """Removes the innermost entry of the stream from this thread's stack, if there is one."""
        stack = self._local.streams or []
        for place in range(len(stack) - 1, -1, -1):
            if stack[place] is stream:
                del stack[place]
                return

    def _forget_stream(self, stream: Stream) -> None:
        """Replaces the stream by the default stream, so that later users wait for the work that it still does."""
        if not self.is_emulator:
            event = stream.record()
            self.default_stream.wait(event)

    # --- choosing and watching

    @property
    def policy(self) -> Policy:
        """Returns how kernels are chosen."""
        return Policy.from_json(self._text("gpuemu_policy_json"))

    def set_policy(self, policy: Any) -> None:
        """Sets how kernels are chosen: a Policy, a dict, JSON text, or the path of a .toml or .json file. An invalid one changes
        nothing."""
        if isinstance(policy, os.PathLike) or (isinstance(policy, str) and not policy.lstrip().startswith("{")):
            self._check("gpuemu_context_set_policy", os.fsencode(pathlib.Path(policy)))
        else:
            self._check("gpuemu_policy_set", policy_text(policy).encode())
        self._choices += 1

    def dispatch_log(self, *, times: bool = False, records_max: int = 10_000) -> DispatchLog:
        """`with device.dispatch_log() as log:` records each call in log.records. times: waits for each call to time it."""
        return DispatchLog(self, times, structs.whole("records_max", records_max))

    def profile(self, *, counters: bool = False) -> Profile:
        """`with device.profile() as p:` times ops and ranges; counters: also counts what kernels do on the emulator."""
        return Profile(self, counters)

    def range(self, name: str) -> Range:
        """Returns a range of this thread in a profile."""
        return Range(lambda: [self], name)

    def _watchers_change(self, by: int) -> None:
        with self._lock:
            self._watchers += by
