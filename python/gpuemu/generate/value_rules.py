"""Values with a rule in addition to their range: distinct or ascending. judge/cases/value_rules.cc computes the same."""

from __future__ import annotations

import math

import numpy as np

from gpuemu.tensors import Array

EXACT = 1 << 53


class _FreeNumbers:
    """Hands out the whole numbers of an interval, each once."""

    def __init__(self, lo: int, hi: int) -> None:
        self.lo, self.hi = lo, hi
        self.next: dict[int, int] = {}

    def _left_from(self, number: int) -> int:
        end, walked = number, []
        while end in self.next:
            walked.append(end)
            end = self.next[end]
        for one in walked:
            self.next[one] = end
        return end

    def take(self, wanted: int) -> int:
        free = self._left_from(wanted)
        if free > self.hi:
            free = self._left_from(self.lo)
        self.next[free] = free + 1
        return free


def _distinct(values: Array, lo: float, hi: float) -> Array:
    least, most = max(math.ceil(lo), -EXACT), min(math.floor(hi), EXACT)
    if values.size > math.floor(hi) - math.ceil(lo) + 1:
        return values
    free = _FreeNumbers(least, most)
    taken = [free.take(min(max(int(one), least), most)) for one in values]
    return np.array(taken, dtype=values.dtype)


def keep(made: Array, dtype: str, row: int, domain: tuple[float, float], distinct: bool, is_sorted: bool) -> Array:
    """Applies the rules. `made`: the elements in their own type, bfloat16 as uint16; `row`: the size of the last axis."""
    if distinct and made.dtype.kind in "iu" and dtype != "bfloat16":
        made = _distinct(made, *domain)
    if is_sorted and made.size:
        rows = made.reshape(-1, row)
        wide = (rows.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else rows
        made = np.take_along_axis(rows, np.argsort(wide, axis=-1, kind="stable"), -1).reshape(-1)
    return made
