"""Memory of one device: allocated, counted, and freed behind the work that uses it."""

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
from gpuemu.runtime.streams import Stream
from gpuemu.runtime.tensors import Tensor

BYTES_MAX = 2**63 - 1
_FOREIGN = -2  # In place of a stream: memory of somebody else.


class Allocations(DeviceCalls):
    """The part of a Device that has memory."""

    default_stream: Stream

    def __init__(self, context: library.Context) -> None:
        super().__init__(context)
        self._uses = 0  # Changes when memory is freed, exported, or used by a stream that did not use it last.
        self._after_capture: list[tuple[int, int, Any]] = []  # Address, stream, and whom it keeps alive until then. Guarded by _lock.
        self._pinned: dict[int, int] = {}  # Bytes by address.
        self._staging = Staging()

    def _stream(self, stream: Any) -> Stream:
        """What `stream=` means."""
        raise NotImplementedError

    def allocate(self, nbytes: int, *, kind: str = "device", stream: Any = None, name: str = "") -> Memory:
        """Memory with undefined content. kind: "device", "pinned" (of the host, page-locked) or "managed"."""
        count = structs.whole("nbytes", nbytes, 2**200)
        return self._allocate(count, kind, stream, name, f"{count} bytes without a name")

    def _allocate(self, count: int, kind: str, stream: Any, name: str, label: str) -> Memory:
        """label: what findings call it where it has no name."""
        if kind not in memory.KINDS:
            raise errors.InvalidArgumentError(f"kind is '{kind}', expected one of {', '.join(memory.KINDS)}")
        if not isinstance(name, str):
            raise TypeError(f"name is of type {type(name).__name__}, expected a str")
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
