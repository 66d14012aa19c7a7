"""Generators with a linear state of two 64-bit words: they can jump far ahead and run many lanes side by side.

The outputs of a tensor are computed by lanes: lane l has outputs [l * 2**k, (l + 1) * 2**k), and each step advances all lanes.
Results are computed in tiles, a few outputs of every lane at a time, which stay in the processor's cache.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gpuemu.tensors import Array

MASK = (1 << 64) - 1
State = tuple[int, int]
Step = Callable[[State], tuple[int, State]]
# Advances the words x and y of all lanes in place; the third array is scratch. Afterwards the array of y holds the new x.
LaneStep = Callable[[Array, Array, Array], None]
# More would not fit into the second-level cache; with less than half of them the calls cost more than the work.
LANES_MAX = 16384
TILE = 32  # Outputs of each lane in one tile.


class Linear:
    """One generator. sum_after: the output is the sum of the words after the first was mixed, otherwise before."""

    def __init__(self, step: Step, lane_step: LaneStep, sum_after: bool = False) -> None:
        self.step, self.lane_step, self.sum_after = step, lane_step, sum_after
        self._tables: list[Array] = []
        self._adding = threading.Lock()  # A table added by two threads at once would stand for twice as many steps.

    def _table(self, k: int) -> Array:
        """Returns the table for 2**k steps. Entry [p, v]: the contribution of byte p of the state if its value is v."""
        if len(self._tables) <= k:
            with self._adding:
                while len(self._tables) <= k:
                    self._tables.append(self._next_table())
        return self._tables[k]

    def _next_table(self) -> Array:
        if self._tables:
            bits = [(1 << bit, 0) if bit < 64 else (0, 1 << (bit - 64)) for bit in range(128)]
            columns = np.array(bits, dtype=np.uint64)
            for _ in range(2):
                columns = _apply(self._tables[-1], columns)
        else:
            columns = np.array([self.step(((1 << bit) & MASK, (1 << bit) >> 64))[1] for bit in range(128)], dtype=np.uint64)
        table = np.zeros((16, 1, 2), dtype=np.uint64)
        for bit in range(8):
            table = np.concatenate([table, table ^ columns[bit::8][:, None, :]], axis=1)
        return table

    def jump(self, state: State, outputs: int) -> State:
        """Returns the state after this many outputs."""
        at = np.array([state], dtype=np.uint64)
        for k in range(outputs.bit_length()):
            if outputs >> k & 1:
                at = _apply(self._table(k), at)
        return int(at[0, 0]), int(at[0, 1])

    def lanes(self, state: State, count: int, each_log2: int) -> tuple[Array, Array]:
        """Returns the states at outputs 0, 2**each_log2, 2 * 2**each_log2, ..."""
        at = np.array([state], dtype=np.uint64)
        while len(at) < count:
            at = np.concatenate([at, _apply(self._table(each_log2), at[: count - len(at)])])
            each_log2 += 1
        return at[:, 0].copy(), at[:, 1].copy()

    def tiles(self, state: State, count: int, each_log2: int, wanted: tuple[bool, bool]) -> Iterator[tuple[Array, Array]]:
        """Yields the outputs of `count` lanes in pairs, TILE at a time: arrays [TILE / 2, lanes] of the first and of the second
        of each pair. Only those in `wanted` are computed. The caller may write into the arrays; the next tile overwrites them."""
        x, y = self.lanes(state, count, each_log2)
        scratch = np.empty_like(x)
        tile = min(TILE, 1 << each_log2)
        pair = np.empty((2, tile // 2, count), dtype=np.uint64)
        places = [pair[i & 1, i >> 1] if wanted[i & 1] else None for i in range(tile)]
        for _ in range((1 << each_log2) // tile):
            for place in places:
                if place is not None and not self.sum_after:
                    np.add(x, y, place)
                self.lane_step(x, y, scratch)
                if self.sum_after:
                    if place is not None:
                        np.add(x, y, place)
                    np.bitwise_xor(x, y, x)
                x, y = y, x
            yield pair[0], pair[1]

    def outputs(self, state: State, count: int) -> Array:
        """Returns the next `count` outputs."""
        made: Array = np.empty(count + (count & 1), dtype=np.uint64)
        if count < 256:
            for i in range(count):
                made[i], state = self.step(state)
            return made[:count]
        lanes, each_log2 = plan(made.size)
        whole: Array = np.empty((lanes, 1 << each_log2), dtype=np.uint64)
        at = 0
        for first, second in self.tiles(state, lanes, each_log2, (True, True)):
            width = 2 * len(first)
            whole[:, at : at + width : 2] = first.T
            whole[:, at + 1 : at + width : 2] = second.T
            at += width
        flat: Array = whole.reshape(-1)[:count]
        return flat


def _apply(table: Array, states: Array) -> Array:
    """Applies one linear map to each row of two words."""
    octets = np.ascontiguousarray(states).view(np.uint8).reshape(-1, 16)
    moved: Array = table[0][octets[:, 0]]
    for p in range(1, 16):
        moved = moved ^ table[p][octets[:, p]]
    return moved


def plan(outputs: int) -> tuple[int, int]:
    """Returns how many lanes of 2**k outputs are needed for this many outputs: (lanes, k)."""
    each_log2 = max(3, min(5, outputs.bit_length() // 2), (outputs // LANES_MAX).bit_length())
    return -(-outputs >> each_log2), each_log2


def elementwise(count: int, dtype: Any, parts: Iterator[Array], lanes: int, each: int) -> Array:
    """Arranges tiles [n, lanes], n elements of every lane, in the order of elements. `each`: elements of a lane."""
    whole: Array = np.empty((lanes, each), dtype=dtype)
    at = 0
    for part in parts:
        whole[:, at : at + len(part)] = part.T
        at += len(part)
    flat: Array = whole.reshape(-1)[:count]
    return flat
