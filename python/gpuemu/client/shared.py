"""Memory that the daemon reads arrays from: as text in a message they are a third larger and are copied many times.

A segment has no name in any file system: it ends with the process that made it, whatever ends that. The daemon only reads
it, while it answers the request that names it.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any

from gpuemu.tensors import Array, Outgoing

CAPABILITY = "shared_memory"
LEAST = 1 << 14  # Bytes of an array: below it the calls of the system cost as much as the text.
KEPT = 64 << 20  # Bytes of a segment that waits for the next request; a larger one is given back.
FREE_MAX = 8  # Segments that wait: as many as requests have run side by side, but not every peak for ever.
ALIGNMENT = 64


class Segment:
    """One memory of this process. Raises OSError when there is none to be had."""

    def __init__(self) -> None:
        self.name = f"gpuemu-shared-{os.urandom(16).hex()}"
        self.descriptor = os.memfd_create(self.name, os.MFD_CLOEXEC)
        self.process = os.getpid()
        self.bytes = 0
        self._end = weakref.finalize(self, os.close, self.descriptor)

    def close(self) -> None:
        """May be called again."""
        self._end()

    def put(self, array: Array, offset: int) -> None:
        """The elements of a packed array. Raises OSError when they do not fit into the memory of the machine."""
        rest = array.reshape(-1).view("uint8").data
        while len(rest):
            written = os.pwrite(self.descriptor, rest, offset)
            rest, offset = rest[written:], offset + written
        self.bytes = max(self.bytes, offset)


class Loan:
    """The memory of one request: `place` says in the message where an array is."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.segment: Segment | None = None
        self.end = 0

    def place(self, array: Array) -> dict[str, Any] | None:
        """None where the text is the better place, or the only one."""
        if array.nbytes < LEAST or self.pool.closed:
            return None
        try:
            if self.segment is None:
                self.segment = self.pool.take()
            self.segment.put(array, self.end)
        except OSError:  # No descriptor or no memory left: the message itself may still fit.
            return None
        segment, offset = self.segment, self.end
        self.end = -(-(offset + array.nbytes) // ALIGNMENT) * ALIGNMENT
        return {"process": segment.process, "descriptor": segment.descriptor, "name": segment.name, "offset": offset, "bytes": array.nbytes}

    def give_back(self, *, answered: bool) -> None:
        """answered: the daemon has read what it asked for. Without an answer it may still read: nobody else writes there."""
        if self.segment is not None:
            self.pool.give_back(self.segment, answered)
        self.segment = None


class Pool:
    """The segments of one connection; threads may share it. A closed one lends nothing."""

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
        """Gives back what waits."""
        with self._lock:
            segments, self._free = self._free, []
        for segment in segments:
            segment.close()

    def close(self) -> None:
        """From now on everything goes as text."""
        self.closed = True
        self.empty()


def writer(loan: Loan | None) -> Any:
    """What json.dumps asks how an array is written."""

    def write(value: object) -> dict[str, Any]:
        if isinstance(value, Outgoing):
            return value.record(loan.place(value.packed) if loan is not None else None)
        raise TypeError(f"{type(value).__name__} cannot be sent in a request: {value!r:.80}")

    return write
