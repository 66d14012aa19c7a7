"""A source of pieces whose replies are merged one by one, in the order in which the pieces were made."""

from __future__ import annotations

import collections
from typing import Any, Generic, TypeVar

from gpuemu.cluster.runs import Piece

HELD_MAX = 256  # Most replies that wait for an earlier one.
Key = TypeVar("Key")


class OrderedSource(Generic[Key]):
    """Base of the sources. Subclasses define `_make`, `_merge` and `_is_all`. A key says which part of the run a piece is."""

    def __init__(self) -> None:
        self.merged = 0
        self._pieces: list[tuple[Piece, Key]] = []
        self._unasked: collections.deque[Piece] = collections.deque()
        self._held: dict[int, dict[str, Any]] = {}
        self._ended = False

    def _make(self, actors: int) -> None:
        """Adds the pieces that may begin now, if any."""
        raise NotImplementedError

    def _merge(self, key: Key, reply: dict[str, Any]) -> None:
        """Merges the reply of the next piece in order."""
        raise NotImplementedError

    def _is_all(self) -> bool:
        """True when every piece was made."""
        raise NotImplementedError

    def _add(self, name: str, request: dict[str, Any], key: Key, shared: Any = None) -> None:
        piece = Piece(len(self._pieces), name, request, shared)
        self._pieces.append((piece, key))
        self._unasked.append(piece)

    def next(self, actors: int) -> Piece | None:
        if not self._unasked and len(self._held) < HELD_MAX:
            self._make(actors)
        return self._unasked.popleft() if self._unasked else None

    def take(self, piece: Piece, reply: dict[str, Any]) -> int:
        self._held[piece.number] = reply
        while not self._ended and self.merged in self._held:
            self._merge_next(self.merged)
        return int(reply.get("total", 0))

    def _merge_next(self, number: int) -> None:
        self.merged += 1
        self._merge(self._pieces[number][1], self._held.pop(number))

    def _merge_all(self) -> None:
        """Merges all held replies, even if earlier ones are missing."""
        for number in sorted(self._held):
            self._merge_next(number)

    @property
    def over(self) -> bool:
        return self._ended or (self._is_all() and self.merged == len(self._pieces))
