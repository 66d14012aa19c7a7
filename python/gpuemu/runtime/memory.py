"""Memory of a device: its allocations, their users, and when they may be freed."""

from __future__ import annotations

import ctypes
import itertools
import sys
import threading
import types
import weakref
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library

KINDS = ("device", "pinned", "managed")
MemoryInfo = namedtuple("MemoryInfo", "total_bytes free_bytes")


@dataclass(frozen=True)
class MemoryStatistics:
    """Memory that a device has allocated, in bytes; the last seven members are counts."""

    requested_bytes: int = 0
    allocated_bytes: int = 0
    reserved_bytes: int = 0
    cached_bytes: int = 0
    peak_requested_bytes: int = 0
    peak_reserved_bytes: int = 0
    pinned_bytes: int = 0
    managed_bytes: int = 0
    adopted_bytes: int = 0
    live: int = 0
    allocations: int = 0
    frees: int = 0
    from_cache: int = 0
    segments_taken: int = 0
    trims: int = 0


class Block:
    """The bytes at an address. They are freed when nothing refers to them, after the work of every stream that used them."""

    last: Any = None  # The stream that used it last.
    free_stream: Any = None
    was_exported = False
    mark: Any = None  # Left by an export; removed by the next use.
    awaited: Any = None  # The mark of an export that has waited for all earlier uses.
    layout: Any = None  # The layout of a lazy tensor's run in this memory, from Device._blocks().

    def __init__(self, device: Any, address: int, kind: str) -> None:
        self.device, self.address, self.kind = device, address, kind
        self.streams: dict[int, Any] = {}  # By handle; the last one used it last.
        if kind != "device":
            device._context.hold()  # It is a buffer, and the end of its last view is not reported.

    def used_by(self, stream: Any) -> None:
        """Notes that work of the stream uses it."""
        self.streams.pop(stream.handle, None)
        self.streams[stream.handle] = self.last = stream
        self.mark = None
        self.device._uses += 1

    def last_stream(self) -> Any:
        """Returns the stream that used it last."""
        used = list(self.streams.values())  # Copied in one step, because other threads use it, too.
        return used[-1] if used and not used[-1].is_closed else self.device.default_stream

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if is_finalizing() or library._State.forked:
            return
        self.device._release(self)
        if self.kind != "device":
            self.device._context.let_go()


class ForeignBlock(Block):
    """Bytes of another owner, which `owner` keeps alive."""

    def __init__(self, device: Any, address: int, nbytes: int, is_readonly: bool, owner: Any, name: str = "") -> None:
        self.owner, self.nbytes = owner, 0
        super().__init__(device, address, "device")
        if nbytes:
            device._check("gpuemu_memory_adopt", address, nbytes, 1 if is_readonly else 0, name.encode())
        self.nbytes = nbytes


class Memory(library.Unique):
    """Memory of Device.allocate. Pinned and managed memory has the buffer protocol, as writable bytes; the host may access it
    when the work that uses it is done.
    """

    _block: Block | None
    _was_freed = False
    _graphs: Any = ()  # A WeakSet from the first graph on; most memory is in no graph.
    _is_readonly = False
    nbytes: int
    name: str

    def __init__(self) -> None:
        raise TypeError("Memory is made by Device.allocate()")

    def _start(self, block: Block, nbytes: int, name: str) -> None:
        self._block = block
        self._device = block.device
        self._address, self.nbytes, self.kind, self.name = block.address, nbytes, block.kind, name

    def _join_graph(self, graph: Any) -> None:
        """Notes that the graph uses it."""
        if not self._graphs:
            self._graphs = weakref.WeakSet()
        self._graphs.add(graph)

    @property
    def device(self) -> Any:
        """The device that it belongs to."""
        return self._device

    @property
    def address(self) -> int:
        """The address. It is the same for the host and kernels if the memory is pinned, managed or the emulator's."""
        return self._address

    @property
    def is_freed(self) -> bool:
        """True after free(), or when the device is closed."""
        return self._was_freed or self._device.is_closed

    def free(self, stream: Any = None) -> None:
        """Frees it after the work of every stream that used it, and of `stream`. May be called twice. Raises InvalidArgumentError
        when a graph uses it."""
        if library.is_forked() or self.is_freed:
            return
        using = next((one for one in self._graphs if not one.is_closed), None)
        if using is not None:
            raise errors.InvalidArgumentError(f"{self._called()} is used by {using.name}; close the graph before its memory is freed")
        if stream is not None and self._block is not None:
            self._block.free_stream = self._device._stream(stream)
        self._was_freed = True
        self._device._uses += 1
        if self.kind == "device":
            self._block = None  # A package to which it was exported may still use it.

    def __len__(self) -> int:
        return self.nbytes

    def __bool__(self) -> bool:
        return True

    def _bytes(self) -> memoryview:
        """Returns the buffer. Raises TypeError for memory that the host cannot access as a buffer."""
        seen: Any = self
        return memoryview(seen)

    def __getitem__(self, index: Any) -> Any:
        return self._bytes()[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self._bytes()[index] = value

    def __iter__(self) -> Any:
        return iter(self._bytes())

    def __repr__(self) -> str:
        state = "freed" if self.is_freed else f"{self.address:#x}"
        return f"<Memory {self.name or 'unnamed'}: {self.nbytes} bytes, {self.kind}, {self._device.name}, {state}>"

    def _called(self) -> str:
        return f"'{self.name}'" if self.name else f"memory at {self.address:#x}"

    def _live(self, what: str = "the memory") -> Block:
        """Returns the block. Raises ReleasedError if it is freed."""
        block = self._block
        library.refuse_forked()
        if block is None or self.is_freed:
            why = "the device is closed" if self._device.is_closed else "it was freed"
            named = f" '{self.name}'" if self.name else ""
            raise errors.ReleasedError(f"{what}{named} cannot be used: {why}")
        return block


class _Byte(ctypes.Union):
    """One byte. The buffer of an array of it has the format "B", like bytes; that of c_ubyte has "<B", whose elements memoryview
    can neither read nor write."""

    _fields_ = [("value", ctypes.c_ubyte)]


class _DeviceMemory(Memory):
    def __init__(self, block: Block, nbytes: int, name: str) -> None:
        self._start(block, nbytes, name)


_DeviceMemory.__name__ = _DeviceMemory.__qualname__ = Memory.__name__  # Python's messages show this name.


def device_memory(block: Block, nbytes: int, name: str) -> Memory:
    """Wraps memory that the host cannot access as a buffer."""
    return _DeviceMemory(block, nbytes, name)


def host_memory(block: Block, nbytes: int, name: str) -> Memory:
    """Wraps memory that is a buffer. Only C types have that protocol in every Python version, so a type is made for its size."""
    kind: Any = types.new_class("Memory", (Memory, _Byte * nbytes))
    kind.__module__ = __name__
    made: Memory = kind.from_address(block.address)
    made._start(block, nbytes, name)
    return made


class Staging:
    """Copies of host data on their way to a device, each kept until its transfer is done. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[tuple[Any, Any]] = []  # Guarded by _lock.

    def keep(self, data: Any, stream: Any) -> None:
        """Keeps `data` until the work issued to the stream so far is done."""
        event = stream.record()
        with self._lock:
            done = list(itertools.takewhile(lambda one: one[0].query(), self._waiting))
            self._waiting = [*self._waiting[len(done) :], (event, data)]
