"""Devices of this process: what there is, opening one, and which is the thread's current one."""

from __future__ import annotations

import ctypes
import json
import os
import pathlib
import threading
from collections.abc import Sequence
from typing import Any

import gpuemu
from gpuemu import dtypes_generated
from gpuemu.client.records import DeviceInfo
from gpuemu.device.places import Place
import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
import gpuemu.runtime.memory as memory
import gpuemu.runtime.registrations as registrations
import gpuemu.runtime.structs as structs
import gpuemu.runtime.tensors as tensors
from gpuemu.runtime.memory import Block, ForeignBlock, Memory, MemoryInfo, MemoryStatistics, Staging
from gpuemu.runtime.streams import DefaultStream, Event, Stream
from gpuemu.runtime.tensors import Tensor
from gpuemu.runtime.watching import DispatchLog, Policy, Profile, Range, policy_text

FINDINGS_MAX = 64
INT32_MAX = 2**31 - 1
BYTES_MAX = 2**63 - 1
_FOREIGN = -2  # In place of a stream: memory of somebody else.
_BACKENDS = ("auto", "cuda", "emulator")


def _info(found: structs.DeviceProperties) -> DeviceInfo:
    names = [name for bit, name in enumerate(dtypes_generated.DTYPES) if found.dtypes >> bit & 1]
    return DeviceInfo(
        name=found.name.decode(), backend=found.backend.decode(), architecture=f"sm_{found.sm}", memory_bytes=found.memory_bytes,
        multiprocessors=found.multiprocessors, index=found.index, memory_free_bytes=found.memory_free_bytes,
        driver_version=found.driver_version.decode(), runtime_version=found.runtime_version.decode(), dtypes=names,
    )  # fmt: skip


def _properties() -> structs.DeviceProperties:
    return structs.DeviceProperties(struct_bytes=ctypes.sizeof(structs.DeviceProperties))


def devices(backend: str | None = None) -> list[DeviceInfo]:
    """What can be opened, GPUs first, without opening it. backend: "cuda" or "emulator", only those."""
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"backend is a {type(backend).__name__}, expected \"cuda\", \"emulator\" or None")
    loaded, count = library.load(), ctypes.c_uint32()
    wanted = None if backend is None else backend.encode()
    loaded.check(loaded.gpuemu_device_count(wanted, ctypes.byref(count)))
    found = []
    for number in range(count.value):
        one = _properties()
        loaded.check(loaded.gpuemu_device_at(wanted, number, ctypes.byref(one)))
        found.append(_info(one))
    return found


def versions() -> dict[str, Any]:
    """Of the package, the library and its interface, and what it found of NVIDIA's; "" for what is absent."""
    loaded = library.load()
    told = loaded.json(loaded.gpuemu_versions_json)
    return {"package": gpuemu.__version__, "library": told["library"], "path": loaded.path, "abi": told["abi"], "driver": told["driver"],
            "cuda_runtime": told["cuda_runtime"], "cupti": told["cupti"], "cublas": told["cublas"]}  # fmt: skip


def dtypes() -> list[str]:
    """The names of all dtypes."""
    return list(dtypes_generated.DTYPES)


def _architecture(arch: Any) -> int:
    if isinstance(arch, int) and not isinstance(arch, bool):
        return arch
    if not isinstance(arch, str):
        raise TypeError(f"arch is a {type(arch).__name__}, expected a text such as \"sm_80\"")
    number = arch.removeprefix("sm_")
    if not number.isdigit():
        raise errors.InvalidArgumentError(f"arch is '{arch}', expected a text such as \"sm_80\"")
    return int(number)


class _OfThread(threading.local):
    """What each thread has of a device."""

    streams: list[Stream] | None = None  # The last one is current.


class Device(library.Unique):
    """A device of this process, with memory, streams and ops of its own.

    backend: "cuda", "emulator", or "auto": a GPU where one answers. arch ("sm_80"), threads (blocks run at once), schedule_seed
    (draws the order between streams) and checks (names as validation.sanitize has them) are the emulator's. folder: keeps
    compiled kernels between processes. policy: as set_policy takes it. `with device:` makes it the thread's current one.
    """

    def __init__(self, backend: str = "auto", index: int = 0, *, arch: str | None = None, threads: int = 0, schedule_seed: int = 0,
                 folder: str | os.PathLike[str] | None = None, policy: Any = None, memory_limit_bytes: int | None = None,
                 checks: Sequence[str] | None = None) -> None:  # fmt: skip
        if not isinstance(backend, str):
            raise TypeError(f"backend is a {type(backend).__name__}, expected one of {', '.join(_BACKENDS)}")
        if backend not in _BACKENDS:
            raise errors.InvalidArgumentError(f"no backend '{backend}', expected one of {', '.join(_BACKENDS)}")
        index = structs.whole("index", index, INT32_MAX)
        chosen = ("cuda" if devices("cuda") else "emulator") if backend == "auto" else backend
        for name, value in (("arch", arch), ("threads", threads or None), ("schedule_seed", schedule_seed or None), ("checks", checks)):
            if chosen == "cuda" and value is not None:
                raise errors.InvalidArgumentError(f"{name} is for the emulator, the device is cuda:{index}")
        there = devices(chosen)
        if index >= len(there):
            known = ", ".join(f"{one.backend}:{one.index}" for one in devices()) or "none"
            raise errors.NotFoundError(f"no device {chosen}:{index}; there are: {known}")
        options = structs.Options(
            struct_bytes=ctypes.sizeof(structs.Options), device=index, backend=chosen.encode(), sm=0 if arch is None else _architecture(arch),
            threads=structs.whole("threads", threads, 2**32 - 1), schedule_seed=structs.whole("schedule_seed", schedule_seed),
            folder=None if folder is None else os.fsencode(folder),
            memory_limit_bytes=0 if memory_limit_bytes is None else max(structs.whole("memory_limit_bytes", memory_limit_bytes), 1),
        )  # fmt: skip
        self.backend, self.index, self.name = chosen, index, f"{chosen}:{index}"
        self.is_emulator = chosen == "emulator"
        self._context = library.Context(options, self.name)
        self._library = self._context.library
        self._lock = threading.RLock()
        self._told: list[Place] = []
        self._captures = 0
        self._uses = 0  # Changes when memory is freed, exported, or used by a stream that did not use it last.
        self._watchers = 0  # Logs and profiles that want to see each call.
        self._choices = 0  # Changes with everything that may lead a call to another kernel.
        self._after_capture: list[tuple[int, int, Any]] = []  # Address, stream, and whom it keeps alive until then.
        self._local = _OfThread()
        self._ops: dict[str, int] = {}
        self._infos: dict[str, Any] = {}
        self._pinned: dict[int, int] = {}  # Bytes by address.
        self.default_stream = DefaultStream(self)
        self._staging = Staging()
        found = _properties()
        self._check("gpuemu_context_device", ctypes.byref(found))
        self.info = _info(found)
        if checks is not None:
            self._set_checks(checks)
        registrations.attach(self)
        if policy is not None:
            self.set_policy(policy)

    def _set_checks(self, checks: Sequence[str]) -> None:
        if isinstance(checks, str) or not all(isinstance(one, str) for one in checks):
            raise TypeError("checks is a list of names, as validation.sanitize has them")
        self._check("gpuemu_checks_set", ",".join(checks).encode())

    # --- its life

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._context.is_closed

    def close(self) -> None:
        """Waits for all work and frees everything of it. Twice is allowed."""
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
        """Waits for all streams. Raises KernelError when a kernel went wrong."""
        self._insist()
        self.current_stream()._refuse_capture("synchronize()")
        self._wait("gpuemu_context_synchronize")

    def findings(self) -> list[Place]:
        """What kernels did wrong since the last call, at most 64, notes among it; a GPU tells nothing."""
        self._insist()
        self._take_findings()
        with self._lock:
            told, self._told = self._told, []
        return told

    # --- memory

    def allocate(self, nbytes: int, *, kind: str = "device", stream: Any = None, name: str = "") -> Memory:
        """Memory with undefined content. kind: "device", "pinned" (of the host, page-locked) or "managed"."""
        count = structs.whole("nbytes", nbytes, 2**200)
        return self._allocate(count, kind, stream, name, f"{count} bytes without a name")

    def _allocate(self, count: int, kind: str, stream: Any, name: str, label: str) -> Memory:
        """label: what findings call it where it has no name."""
        if kind not in memory.KINDS:
            raise errors.InvalidArgumentError(f"kind is '{kind}', expected one of {', '.join(memory.KINDS)}")
        if not isinstance(name, str):
            raise TypeError(f"name is a {type(name).__name__}, expected a str")
        chosen, made = self._stream(stream), ctypes.c_void_p()
        try:
            if count > BYTES_MAX:
                raise errors.OutOfMemoryError(f"{self.name}: {count} bytes are more than any device has")
            self._check_using([chosen], self._check, "gpuemu_memory_allocate_named", memory.KINDS.index(kind), count, chosen.handle,
                              (name or label).encode(), ctypes.byref(made))  # fmt: skip
        except errors.OutOfMemoryError as problem:
            raise errors.OutOfMemoryError(self._out_of_memory(str(problem), count)) from None
        block = Block(self, made.value or 0, kind)
        if kind == "device":
            block.used_by(chosen)
            return memory.device_memory(block, count, name)
        self._pinned[block.address] = count
        return memory.host_memory(block, count, name)

    def _blocks(self, layouts: Sequence[tensors.Layout], stream: Stream) -> list[Block]:
        """Memory with undefined content for each."""
        made, address, new = [], ctypes.c_void_p(), Block.__new__
        function, where, handle = self._library.gpuemu_memory_allocate_named, ctypes.byref(address), stream.handle
        context = self._context.enter()
        try:
            for one in layouts:
                if function(context, 0, one.nbytes, handle, one.label, where):
                    block = self._allocate(one.nbytes, "device", stream, "", one.label.decode())._live()  # It raises the error.
                else:
                    block = new(Block)  # Without __init__(), which costs as much as all of it.
                    block.device, block.address, block.kind, block.streams, block.last = self, address.value or 0, "device", {handle: stream}, stream
                block.layout = one
                made.append(block)
        finally:
            self._context.leave()
        return made

    def _out_of_memory(self, said: str, count: int) -> str:
        info, told = self.memory(), self.memory_statistics()
        holders = ", ".join(f"'{name}' {size}" for name, size in self.largest(3))
        return (f"{said} (requested {count} bytes; free {info.free_bytes} of {info.total_bytes}, cached {told.cached_bytes}"
                f"{'; the largest: ' + holders if holders else ''})")  # fmt: skip

    def memory(self) -> MemoryInfo:
        """Total and free bytes, now."""
        free, total = ctypes.c_uint64(), ctypes.c_uint64()
        self._check("gpuemu_memory_info", ctypes.byref(free), ctypes.byref(total))
        return MemoryInfo(total.value, free.value)

    def memory_statistics(self) -> MemoryStatistics:
        """What this device has allocated for this process. Workspaces of ops are not among it."""
        told = structs.Statistics(struct_bytes=ctypes.sizeof(structs.Statistics))
        self._check("gpuemu_memory_statistics_get", ctypes.byref(told))
        return MemoryStatistics(**{name: getattr(told, name) for name in MemoryStatistics.__dataclass_fields__})

    def reset_peaks(self) -> None:
        """The peaks begin anew with what is allocated now."""
        self._check("gpuemu_memory_reset_peaks")

    def largest(self, count: int = 10) -> list[tuple[str, int]]:
        """The largest allocations: name and bytes."""
        return [(name, size) for name, size in self._json("gpuemu_memory_largest_json", min(structs.whole("count", count), 2**32 - 1))]

    def trim(self, bytes: int = 0) -> int:
        """Gives unused cache back until at most so many bytes are reserved; returns the bytes given back."""
        before = self.memory_statistics().reserved_bytes
        self._check("gpuemu_memory_trim", structs.whole("bytes", bytes))
        return max(0, before - self.memory_statistics().reserved_bytes)

    def empty(self, shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
        """A Tensor with undefined content."""
        return tensors.empty(self, shape, dtype, kind=kind, strides=strides, stream=stream, name=name)

    def zeros(self, shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
        """A Tensor of zeros."""
        return tensors.zeros(self, shape, dtype, kind=kind, strides=strides, stream=stream, name=name)

    def tensor(self, array: Any, *, dtype: str | None = None, kind: str = "device", stream: Any = None, name: str = "") -> Tensor:
        """A copy of an array or nested list."""
        return tensors.tensor(self, array, dtype=dtype, kind=kind, stream=stream, name=name)

    # --- streams and events

    def stream(self, *, priority: int = 0, non_blocking: bool = False) -> Stream:
        """A new stream. Lower priorities are more urgent; a non-blocking one does not wait for the default stream."""
        made = ctypes.c_uint64()
        self._check("gpuemu_stream_create", structs.whole("priority", priority, INT32_MAX, -INT32_MAX), 1 if non_blocking else 0, ctypes.byref(made))
        return Stream(self, made.value)

    def event(self) -> Event:
        """A new event, which was never recorded."""
        made = ctypes.c_uint64()
        self._check("gpuemu_event_create", ctypes.byref(made))
        return Event(self, made.value)

    def current_stream(self) -> Stream:
        """The thread's: that of the innermost `with stream:`, else the default stream."""
        stack = self._local.streams
        return stack[-1] if stack else self.default_stream

    def adopt_stream(self, handle: Any) -> Stream:
        """A stream of somebody else, who destroys it: a cudaStream_t as an int, a torch.cuda.Stream, or anything with
        __cuda_stream__ or cuda_stream. Raises UnsupportedError on the emulator."""
        self._insist()
        found = handle
        if hasattr(handle, "__cuda_stream__"):
            told = handle.__cuda_stream__
            found = (told() if callable(told) else told)[1]
        elif hasattr(handle, "cuda_stream"):
            found = handle.cuda_stream
        if isinstance(found, bool) or not isinstance(found, int):
            raise TypeError(f"handle is a {type(handle).__name__}, expected a cudaStream_t or an object with one")
        made = ctypes.c_uint64()
        self._check("gpuemu_stream_adopt", found, ctypes.byref(made))
        return Stream(self, made.value, is_ours=False) if made.value else self.default_stream

    def _stream(self, stream: Any) -> Stream:
        """What `stream=` means."""
        if stream is None:
            return self.current_stream()
        if not isinstance(stream, Stream):
            if isinstance(stream, int) or hasattr(stream, "cuda_stream") or hasattr(stream, "__cuda_stream__"):
                return self.adopt_stream(stream)
            raise TypeError(f"stream is a {type(stream).__name__}, expected a Stream or None")
        if stream.device is not self:
            raise errors.InvalidArgumentError(f"stream is of {stream.device.name}, expected one of {self.name}"
                                              + (", the same device object" if stream.device.name == self.name else ""))  # fmt: skip
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
        """Takes the innermost entry of the stream away, where this thread has one."""
        stack = self._local.streams or []
        for place in range(len(stack) - 1, -1, -1):
            if stack[place] is stream:
                del stack[place]
                return

    def _forget_stream(self, stream: Stream) -> None:
        """Its later users wait for what it still does: the default stream takes its place."""
        if not self.is_emulator:
            event = stream.record()
            self.default_stream.wait(event)

    # --- choosing and watching

    @property
    def policy(self) -> Policy:
        """How kernels are chosen."""
        return Policy.from_json(self._text("gpuemu_policy_json"))

    def set_policy(self, policy: Any) -> None:
        """A Policy, a dict, JSON text, or the path of a .toml or .json file. One that is refused changes nothing."""
        if isinstance(policy, os.PathLike) or (isinstance(policy, str) and not policy.lstrip().startswith("{")):
            self._check("gpuemu_context_set_policy", os.fsencode(pathlib.Path(policy)))
        else:
            self._check("gpuemu_policy_set", policy_text(policy).encode())
        self._choices += 1

    def dispatch_log(self, *, times: bool = False, records_max: int = 10_000) -> DispatchLog:
        """`with device.dispatch_log() as log:` has a record of each call in log.records. times: each call is waited for."""
        return DispatchLog(self, times, structs.whole("records_max", records_max))

    def profile(self, *, counters: bool = False) -> Profile:
        """`with device.profile() as p:` times ops and ranges; counters: what kernels do on the emulator, too."""
        return Profile(self, counters)

    def range(self, name: str) -> Range:
        """A range of this thread in a profile."""
        return Range(self, name)

    # --- calls of the library

    def _insist(self) -> None:
        library.refuse_forked()
        if self.is_closed:
            raise errors.ReleasedError(f"the device {self.name} is closed")

    def _check(self, function: str, *arguments: Any) -> None:
        self._context.check(getattr(self._library, function), *arguments)

    def _check_using(self, used: Sequence[Any], function: Any, *arguments: Any) -> None:
        """The same. What another thread closed after it was looked at is a ReleasedError."""
        try:
            function(*arguments)
        except errors.InvalidArgumentError as problem:
            gone = next((one for one in used if one.is_closed), None)
            if gone is None or isinstance(problem, errors.ReleasedError):
                raise
            raise errors.ReleasedError(f"{gone!r} was closed by another thread: {problem}") from None

    def _check_on(self, stream: Stream, function: str, *arguments: Any) -> None:
        """A call whose last argument is the stream."""
        self._check_using([stream], self._check, function, *arguments, stream.handle)

    def _wait_for(self, stream: Stream) -> None:
        self._check_using([stream], self._wait, "gpuemu_stream_synchronize", stream.handle)

    def _text(self, function: str, *arguments: Any) -> str:
        return self._context.text(getattr(self._library, function), *arguments)

    def _json(self, function: str, *arguments: Any) -> Any:
        return json.loads(self._text(function, *arguments))

    def _wait(self, function: str, *arguments: Any) -> None:
        """A call that waits, and what kernels did before."""
        try:
            self._check(function, *arguments)
            said = ""
        except errors.DeviceError as problem:
            if problem.code != "Launch":
                raise
            said = str(problem)
        faults = [one for one in self._take_findings() if not one.is_note]
        if faults and self._captures == 0:
            # What was told now is not told by the next wait again.
            for _ in range(FINDINGS_MAX):
                if self._context.call(self._library.gpuemu_context_synchronize) != errors.LAUNCH:
                    break
        if said and not faults:
            faults = [Place(kind="fault", message=said)]
            with self._lock:
                self._told = (self._told + faults)[:FINDINGS_MAX]
        if faults:
            raise errors.of_faults(faults)

    def _take_findings(self) -> list[Place]:
        text = self._text("gpuemu_findings_json") if self.is_emulator else "[]"
        if text == "[]":
            return []
        found = errors.places_of(text)
        with self._lock:
            self._told = (self._told + found)[:FINDINGS_MAX]
        return found

    def _op_number(self, name: str) -> int:
        number = self._ops.get(name)
        if number is None:
            found = ctypes.c_uint32()
            self._check("gpuemu_op_find", name.encode(), ctypes.byref(found))
            number = self._ops[name] = found.value
        return number

    def _issue(self, name: str, call: structs.Call, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stream: Stream,
               function: str = "gpuemu_op_call", *further: Any) -> None:  # fmt: skip
        """Makes a call of an op with these operands, and notes that its work uses them. further: arguments of `function`."""
        used = []
        for number, one in enumerate((*inputs, *outputs)):
            block = one._memory._block
            if block is None or one._memory.is_freed:
                block = one._memory._live(f"{name}: {f'inputs[{number}]' if number < len(inputs) else f'outputs[{number - len(inputs)}]'}, the tensor")
            used.append((one._memory, block))
        for number, one in enumerate(outputs):
            if one._readonly:
                raise errors.InvalidArgumentError(f"{name}: outputs[{number}] is read-only; an output is written")
        in_row, out_row = structs.operands(inputs), structs.operands(outputs)
        call.op, call.stream = self._op_number(name), stream.handle
        call.inputs, call.outputs = ctypes.addressof(in_row), ctypes.addressof(out_row)
        call.input_count, call.output_count = len(inputs), len(outputs)
        self._check_using([stream], self._check, function, ctypes.byref(call), *further)
        graph = stream._graph
        for owner, block in used:
            block.used_by(stream)
            if graph is not None:
                graph._keep(owner, block)

    # --- freeing

    def _watchers_change(self, by: int) -> None:
        with self._lock:
            self._watchers += by

    def _captures_change(self, by: int) -> None:
        """Nothing is freed while something is captured: a capture has no place for it."""
        with self._lock:
            self._captures += by
            due = [] if self._captures else self._after_capture
            if due:
                self._after_capture = []
        for address, stream, _ in due:
            self._free(address, stream)

    def _release(self, block: Block) -> None:
        """Nothing refers to the block any more."""
        context, streams = self._context, block.streams
        if context.is_closed:
            return
        is_plain = block.kind == "device" and block.free_stream is None and type(block) is Block
        if is_plain and not self._captures and (self.is_emulator or (len(streams) == 1 and 0 in streams)):
            try:
                context.call(self._library.gpuemu_memory_free_async, block.address, 0)
            except errors.DeviceError:
                pass  # Another thread closed the device just now.
            return
        after = self.default_stream if block.free_stream is None or block.free_stream.is_closed else block.free_stream
        is_pinned = self._pinned.pop(block.address, None) is not None
        try:
            if isinstance(block, ForeignBlock):
                self._release_foreign(block)
                return
            if not is_pinned and not self.is_emulator:
                for stream in list(block.streams.values()):
                    if stream is not after and not stream.is_closed and not stream.is_capturing:
                        after.wait(stream.record())
            with self._lock:
                if self._captures:
                    self._after_capture.append((block.address, -1 if is_pinned else after.handle, None))
                    return
            self._free(block.address, -1 if is_pinned else after.handle)
        except errors.DeviceError:
            pass  # A device that is lost has freed everything.

    def _release_foreign(self, block: ForeignBlock) -> None:
        """The owner may use it again: what was issued with it is waited for."""
        if not block.nbytes:
            return
        with self._lock:
            if self._captures:
                self._after_capture.append((block.address, _FOREIGN, block.owner))
                return
        if not self.is_emulator:
            for stream in list(block.streams.values()):
                if not stream.is_closed:
                    self._context.call(self._library.gpuemu_stream_synchronize, stream.handle)
        self._free(block.address, _FOREIGN)

    def _free(self, address: int, stream: int) -> None:
        if stream == _FOREIGN:
            self._context.call(self._library.gpuemu_memory_release, address)
        elif stream < 0:
            self._context.call(self._library.gpuemu_memory_free, address)
        else:
            self._context.call(self._library.gpuemu_memory_free_async, address, stream)
