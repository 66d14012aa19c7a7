"""Shared memory from which the daemon reads arrays: as text in a message they are a third larger and are copied many times.

A segment has no name in any file system: it disappears with the process that made it, however that ends. The daemon only reads
it, while it answers the request that names it.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from gpuemu.tensors import Array, Outgoing

CAPABILITY = "shared_memory"
LEAST = 1 << 14  # Smallest array in bytes that uses shared memory; below this the system calls cost as much as the text.
KEPT = 64 << 20  # Largest segment in bytes that is kept for the next request; a larger one is freed.
FREE_MAX = 8  # Most segments that are kept: as many as there were parallel requests, without keeping every peak for ever.
ALIGNMENT = 64


class Segment:
    """One segment of memory of this process. Raises OSError when none can be allocated."""

    def __init__(self) -> None:
        self.name = f"gpuemu-shared-{os.urandom(16).hex()}"
        self.descriptor = os.memfd_create(self.name, os.MFD_CLOEXEC)
        self.process = os.getpid()
        self.bytes = 0
        self._end = weakref.finalize(self, os.close, self.descriptor)

    def close(self) -> None:
        """Closes the segment. May be called again."""
        self._end()

    def put(self, array: Array, offset: int) -> None:
        """Writes the elements of a packed array. Raises OSError when they do not fit into the memory of the machine."""
        rest = array.reshape(-1).view("uint8").data
        while len(rest):
            written = os.pwrite(self.descriptor, rest, offset)
            rest, offset = rest[written:], offset + written
        self.bytes = max(self.bytes, offset)


class Loan:
    """The shared memory of one request; place() returns what the message says in place of an array."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.segment: Segment | None = None
        self.end = 0

    def place(self, array: Array) -> dict[str, Any] | None:
        """Puts the array into shared memory. Returns None if it must be sent as text: it is small, or no memory is available."""
        if array.nbytes < LEAST or self.pool.closed:
            return None
        try:
            if self.segment is None:
                self.segment = self.pool.take()
            self.segment.put(array, self.end)
        except OSError:  # No descriptor or no memory left; the message itself may still fit.
            return None
        segment, offset = self.segment, self.end
        self.end = -(-(offset + array.nbytes) // ALIGNMENT) * ALIGNMENT
        return {"process": segment.process, "descriptor": segment.descriptor, "name": segment.name, "offset": offset, "bytes": array.nbytes}

    def give_back(self, *, answered: bool) -> None:
        """Returns the memory to the pool. answered: the daemon has read the data. Without an answer it may still be reading, so
        the segment is not reused."""
        if self.segment is not None:
            self.pool.give_back(self.segment, answered)
        self.segment = None


class Pool:
    """The segments of one connection; threads may share it. A closed pool lends nothing."""

    def __init__(self) -> None:
        self.closed = not hasattr(os, "memfd_create")
        self._free: list[Segment] = []
        self._lock = threading.Lock()

    def take(self) -> Segment:
        with self._lock:
            if self._free:
                return self._free.pop()
        return Segment()

    def give_back(self, segment: Segment, answered: bool) -> None:
        with self._lock:
            if answered and not self.closed and segment.bytes <= KEPT and len(self._free) < FREE_MAX:
                self._free.append(segment)
                return
        segment.close()

    def empty(self) -> None:
        """Frees the segments that are kept."""
        with self._lock:
            segments, self._free = self._free, []
        for segment in segments:
            segment.close()

    def close(self) -> None:
        """From now on all arrays are sent as text."""
        self.closed = True
        self.empty()


def writer(loan: Loan | None) -> Any:
    """Returns the function with which json.dumps writes an array."""

    def write(value: object) -> dict[str, Any]:
        if isinstance(value, Outgoing):
            return value.record(loan.place(value.packed) if loan is not None else None)
        raise TypeError(f"{type(value).__name__} cannot be sent in a request: {value!r:.80}")

    return write
