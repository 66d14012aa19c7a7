"""Memory of one device: allocated, counted, and freed after the work that uses it."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
import gpuemu.runtime.memory as memory
import gpuemu.runtime.structs as structs
import gpuemu.runtime.tensors as tensors
from gpuemu.runtime.device_calls import DeviceCalls
from gpuemu.runtime.memory import Block, ForeignBlock, Memory, MemoryInfo, MemoryStatistics, Staging
from gpuemu.runtime.recycling import Results, Spares
from gpuemu.runtime.streams import Stream
from gpuemu.runtime.tensors import Tensor

BYTES_MAX = 2**63 - 1
_FOREIGN = -2  # In place of a stream: memory of another owner.


class Allocations(DeviceCalls):
    """The memory management of a Device."""

    # Whether spares are kept; None: only on a GPU. On the emulator they would hide reads of undefined content.
    recycles: bool | None = None
    default_stream: Stream
    _watchers: int

    def __init__(self, context: library.Context) -> None:
        super().__init__(context)
        self._uses = 0  # Changes when memory is freed, exported, or used by a stream other than the last.
        # Address, stream, and the owner to keep alive until then. Guarded by _lock.
        self._after_capture: list[tuple[int, int, Any]] = []
        self._pinned: dict[int, int] = {}  # Bytes by address.
        self._staging = Staging()
        self._spares = Spares()  # Guarded by _lock.
        self._results: list[Results] = []  # The results of the last runs.

    def _stream(self, stream: Any) -> Stream:
        """Returns the stream for an argument `stream=`."""
        raise NotImplementedError

    def allocate(self, nbytes: int, *, kind: str = "device", stream: Any = None, name: str = "") -> Memory:
        """Allocates memory with undefined content. kind: "device", "pinned" (page-locked host memory) or "managed"."""
        count = structs.whole("nbytes", nbytes, 2**200)
        return self._allocate(count, kind, stream, name, f"{count} bytes without a name")

    def _allocate(self, count: int, kind: str, stream: Any, name: str, label: str) -> Memory:
        """Allocates memory. label: its name in findings if `name` is empty."""
        if kind not in memory.KINDS:
            raise errors.InvalidArgumentError(f"kind is '{kind}', expected one of {', '.join(memory.KINDS)}")
        if not isinstance(name, str):
            raise TypeError(f"name is of type {type(name).__name__}, expected a str")
        chosen, made = self._stream(stream), ctypes.c_void_p()
        try:
            if count > BYTES_MAX:
                raise errors.OutOfMemoryError(f"{self.name}: {count} bytes are more than any device has")
            call = ([chosen], self._check, "gpuemu_memory_allocate_named", memory.KINDS.index(kind), count, chosen.handle, (name or label).encode(), ctypes.byref(made))
            try:
                self._check_using(*call)
            except errors.OutOfMemoryError:
                if not self._drop_spares():
                    raise
                self._check_using(*call)
        except errors.OutOfMemoryError as problem:
            raise errors.OutOfMemoryError(self._out_of_memory(str(problem), count)) from None
        block = Block(self, made.value or 0, kind)
        if kind == "device":
            block.used_by(chosen)
            return memory.device_memory(block, count, name)
        self._pinned[block.address] = count
        return memory.host_memory(block, count, name)

    def _blocks(self, layouts: Sequence[tensors.Layout], stream: Stream) -> list[Block]:
        """Allocates memory with undefined content for each layout."""
        made, address, new = [], ctypes.c_void_p(), Block.__new__
        function, where, handle = self._library.gpuemu_memory_allocate_named, ctypes.byref(address), stream.handle
        recycles = handle == 0 and self._recycles
        found: list[int] = []
        if recycles:
            # No call of the library is made under the lock: a destructor inside such a call may wait for the lock.
            with self._lock:
                found = [self._spares.take(one.label) for one in layouts]
        context = self._context.enter()
        try:
            for place, one in enumerate(layouts):
                spare = 0
                if found:
                    spare, found[place] = found[place], 0
                if not spare and function(context, 0, one.nbytes, handle, one.label, where):
                    # Frees the spares and retries, or raises the error.
                    block = self._allocate(one.nbytes, "device", stream, "", one.label.decode())._live()
                else:
                    block = new(Block)  # Without __init__(), which costs as much as everything else here.
                    block.device, block.address, block.kind, block.streams, block.last = self, spare or address.value or 0, "device", {handle: stream}, stream
                block.layout = one
                made.append(block)
        except BaseException:
            with self._lock:
                for spare, one in zip(found, layouts):
                    if spare:
                        self._spares.add(one.label, spare)
            raise
        finally:
            self._context.leave()
        if recycles:
            self._turn_spares()
        return made

    def _turn_spares(self) -> None:
        """Ends a run: gives memory back that two runs have not used."""
        with self._lock:
            unused = self._spares.turn()
        self._give_back(unused)

    @property
    def _recycles(self) -> bool:
        """True if spares are kept. Not during a profile, which counts all allocations and frees."""
        return (not self.is_emulator if self.recycles is None else self.recycles) and not self._watchers

    def _drop_spares(self) -> bool:
        """Frees all spare memory. Returns False if there was none."""
        results, self._results = self._results, []
        for one in results:
            one.drop()  # Their destructors make it spare.
        with self._lock:
            unused = self._spares.turn() + self._spares.turn()
        self._give_back(unused)
        return bool(unused)

    def _makes_room(self) -> bool:
        if self._captures or not self._drop_spares():
            return False
        self._check("gpuemu_memory_trim", 0)
        return True

    def _give_back(self, unused: Sequence[int]) -> None:
        for address in unused:
            with self._lock:
                if self._captures:
                    self._after_capture.append((address, 0, None))
                    continue
            self._free(address, 0)

    def _out_of_memory(self, said: str, count: int) -> str:
        info, told = self.memory(), self.memory_statistics()
        holders = ", ".join(f"'{name}' {size}" for name, size in self.largest(3))
        return (f"{said} (requested {count} bytes; free {info.free_bytes} of {info.total_bytes}, cached {told.cached_bytes}"
                f"{'; the largest: ' + holders if holders else ''})")  # fmt: skip

    def memory(self) -> MemoryInfo:
        """Returns the current total and free bytes."""
        self._drop_spares()
        free, total = ctypes.c_uint64(), ctypes.c_uint64()
        self._check("gpuemu_memory_info", ctypes.byref(free), ctypes.byref(total))
        return MemoryInfo(total.value, free.value)

    def memory_statistics(self) -> MemoryStatistics:
        """Returns what this device has allocated for this process, without workspaces of ops."""
        self._drop_spares()
        told = structs.Statistics(struct_bytes=ctypes.sizeof(structs.Statistics))
        self._check("gpuemu_memory_statistics_get", ctypes.byref(told))
        return MemoryStatistics(**{name: getattr(told, name) for name in MemoryStatistics.__dataclass_fields__})

    def reset_peaks(self) -> None:
        """Resets the peaks to the current amounts."""
        self._check("gpuemu_memory_reset_peaks")

    def largest(self, count: int = 10) -> list[tuple[str, int]]:
        """Returns the largest allocations: name and bytes."""
        self._drop_spares()
        return [(name, size) for name, size in self._json("gpuemu_memory_largest_json", min(structs.whole("count", count), 2**32 - 1))]

    def trim(self, bytes: int = 0) -> int:
        """Frees unused cache until at most this many bytes are reserved; returns the number of bytes freed."""
        before = self.memory_statistics().reserved_bytes
        self._check("gpuemu_memory_trim", structs.whole("bytes", bytes))
        return max(0, before - self.memory_statistics().reserved_bytes)

    def empty(self, shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
        """Returns a Tensor with undefined content."""
        return tensors.empty(self, shape, dtype, kind=kind, strides=strides, stream=stream, name=name)

    def zeros(self, shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
        """Returns a Tensor of zeros."""
        return tensors.zeros(self, shape, dtype, kind=kind, strides=strides, stream=stream, name=name)

    def tensor(self, array: Any, *, dtype: str | None = None, kind: str = "device", stream: Any = None, name: str = "") -> Tensor:
        """Copies an array or nested list to a new Tensor."""
        return tensors.tensor(self, array, dtype=dtype, kind=kind, stream=stream, name=name)

    def _captures_change(self, by: int) -> None:
        """Changes the number of captures. Nothing is freed during a capture, because a free cannot be captured."""
        with self._lock:
            self._captures += by
            due = [] if self._captures else self._after_capture
            if due:
                self._after_capture = []
        for address, stream, _ in due:
            self._free(address, stream)

    def _release(self, block: Block) -> None:
        """Frees a block that nothing refers to."""
        context, streams = self._context, block.streams
        if context.is_closed:
            return
        if block.layout is not None and len(streams) == 1 and 0 in streams and block.free_stream is None and self._recycles:
            with self._lock:
                self._spares.add(block.layout.label, block.address)
            return
        is_plain = block.kind == "device" and block.free_stream is None and type(block) is Block
        if is_plain and not self._captures and (self.is_emulator or (len(streams) == 1 and 0 in streams)):
            try:
                context.call(self._library.gpuemu_memory_free_async, block.address, 0)
            except errors.DeviceError:
                pass  # Another thread closed the device meanwhile.
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
            pass  # A lost device has freed everything.

    def _release_foreign(self, block: ForeignBlock) -> None:
        """Waits for work that was issued with the memory, because its owner may use it again."""
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
