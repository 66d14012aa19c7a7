"""Memory of the results of lazy tensors' runs, which later runs write again without an allocation."""

from __future__ import annotations

import heapq
import sys
from collections.abc import Sequence
from sys import getrefcount
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuemu.runtime.memory import Block
    from gpuemu.runtime.tensors import Layout

RUNS = 2  # Memory of results is kept for as many further runs. In a training loop the weights of two steps alternate.


class Spares:
    """Memory of lazy tensors that the next run on the default stream can reuse without allocating or freeing. Memory that two
    runs have not used is freed. Rows are heaps, so that in a loop the same tensors get the same addresses."""

    def __init__(self) -> None:
        self._now: dict[bytes, list[int]] = {}
        self._before: dict[bytes, list[int]] = {}

    def add(self, label: bytes, address: int) -> None:
        """Adds memory for elements of this dtype and shape that nothing refers to."""
        heapq.heappush(self._now.setdefault(label, []), address)

    def take(self, label: bytes) -> int:
        """Returns an address of memory for these elements; 0 if there is none."""
        found = self._now.get(label) or self._before.get(label)
        return heapq.heappop(found) if found else 0

    @property
    def is_held(self) -> bool:
        """True if there is spare memory."""
        return bool(self._now or self._before)

    def turn(self) -> list[int]:
        """Ends a run; returns the memory that must be freed."""
        gone, self._before, self._now = self._before, self._now, {}
        return [address for row in gone.values() for address in row]


def _counted(row: list[Any]) -> int:
    for one in row:
        return getrefcount(one)
    return 0


_UNUSED = _counted([object()])  # What is counted in a loop over a row for an object that only the row refers to.
# Without a global lock another thread may have a reference that is not counted yet.
_COUNTS = getattr(sys, "_is_gil_enabled", lambda: True)()


class Results:
    """The memory of the results of one program. `rows`: for each result the memory of the last runs, the newest last. A run takes
    what nothing else refers to any more, which needs no destructor and no lock."""

    __slots__ = ("device", "layouts", "rows", "unused_runs", "uses")

    def __init__(self, device: Any, layouts: Sequence[Layout]) -> None:
        self.device, self.layouts = device, layouts
        self.rows: list[list[Block]] = []
        self.uses = -1  # The value of Device._uses of the last run, after which no row was exported or used by another stream.
        self.unused_runs = 0  # Runs of other programs since the last one of this.

    def drop(self) -> None:
        """Keeps no memory any more."""
        self.rows = []

    def take(self, stream: Any) -> list[Block]:
        """Returns memory with undefined content for each result. REQUIRES: no other thread runs the program."""
        device = self.device
        if stream.handle != 0 or not (device._recycles and _COUNTS):
            self.rows = []
            return device._blocks(self.layouts, stream)  # type: ignore[no-any-return]
        recent = device._results
        if len(recent) != 1 or recent[0] is not self:
            self._becomes_newest(recent)
        rows = self.rows or [[] for _ in self.layouts]
        made: list[Any] = []
        missing: list[int] = []
        is_same = self.uses == device._uses
        for row in rows:
            for block in row:
                if getrefcount(block) == _UNUSED and (is_same or (len(block.streams) == 1 and block.mark is None and not block.was_exported)):
                    made.append(block)
                    if len(row) > 1:
                        row[:] = [block] if block is row[-1] else [*row[1:], block]
                    break
            else:
                missing.append(len(made))
                made.append(None)
        if missing:
            for place, block in zip(missing, device._blocks([self.layouts[place] for place in missing], stream)):
                made[place] = block
                rows[place][:] = [*rows[place][1 - RUNS :], block]
        elif device._spares.is_held:
            device._turn_spares()
        self.rows, self.uses = rows, device._uses
        return made

    def _becomes_newest(self, recent: list[Results]) -> None:
        kept = []
        for one in recent:
            one.unused_runs += 1
            if one is not self and one.unused_runs <= RUNS:
                kept.append(one)
            elif one is not self:
                one.drop()
        self.unused_runs = 0
        self.device._results = [*kept, self]
