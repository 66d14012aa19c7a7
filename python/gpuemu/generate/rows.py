"""Values that follow a separate pattern in each row, bit for bit those of the daemon (judge/cases/rows.cc), and values around a
kernel's constants (judge/cases/thresholds.cc)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuemu.generate import rng
from gpuemu.tensors import Array

PATTERNS = ("tile_maxima", "exact_ties", "row_mix")
STAIRS = ("rising", "spike", "rising_below_zero", "falling")
AFTER_FIRST = ("near_eps", "ties", "negative", "rising", "offset", "constant", "zeros", "spike")
NEAR_EPS = np.ldexp(1.0, np.array([-6, -7, -8, -9, -10, -11, -13, -20]))
SPECIAL_ROWS = 16
SPECIALS = ((math.nan, True, False), (math.nan, False, False), (-math.inf, False, True), (math.inf, True, False), (-math.inf, False, False),
            (0.0, False, False), (math.inf, False, False), (-math.inf, True, False))  # value, at an odd place, all of the row
EXACT_BITS = 12


class Table(NamedTuple):
    """The properties shared by all rows of a tensor: its domain, the usual interval, an interval in which exp overflows, the
    elements of a row, its rows along their axis, whether other tensors may be divided by it, and a power of two for which ties
    are representable."""

    lo: float
    hi: float
    usual: tuple[float, float]
    reach: tuple[float, float]
    length: int
    rows: int
    is_scale: bool
    shift: float


def _turn(case: dict[str, Any]) -> int:
    given = case.get("value_parameters") or [int(case["iteration"])]
    return int(given[0])


def _draws(case: dict[str, Any], label: str, count: int) -> Array:
    state = rng.derive_state(int(case["base_seed"]), int(case["iteration"]), label)
    return rng.draw(state, "uniform", (0.0, 1.0), count)


def _shift(lo: float, hi: float) -> float:
    most = min(-lo, hi) if lo < 0 < hi else max(abs(lo), abs(hi))
    shift = 1.0
    while shift > 0 and 128 * shift > most:
        shift *= 0.5
    return shift


def _table(dtype: str, domain: tuple[float, float], usual: tuple[float, float], shape: Sequence[int], count: int,
           largest: float | None) -> Table:  # fmt: skip
    """Returns the table of a tensor. largest: of the dtype, if values may reach the ends of a declared domain."""
    lo, hi = domain
    most = 500.0 if dtype in ("float32", "float64") else 100.0
    if largest is not None:
        most = max(most, min(1e5, math.sqrt(largest) / 2))
    reach = max(lo, -most), min(hi, most)
    length, rows = int(shape[-1]) if shape else 1, int(shape[-2]) if len(shape) > 1 else 1
    return Table(lo, hi, usual, reach if reach[0] <= reach[1] else usual, length, rows, lo > 0 or count == 1, _shift(lo, hi))


def _form(strategy: str, turn: int, row: int, alone: bool) -> str:
    if strategy == "exact_ties":
        return "ties"
    if strategy == "tile_maxima" and turn % 2 == 1 and not alone:
        return "row_by_row"
    if strategy == "tile_maxima":
        return STAIRS[(row + turn) % len(STAIRS)]
    if row >= 4:
        return AFTER_FIRST[row % len(AFTER_FIRST)]
    first = AFTER_FIRST[(row + turn) % 4]
    return STAIRS[turn // 4 % len(STAIRS)] if first == "rising" else first


def _ordinary(table: Table, u: Array) -> Array:
    lo, hi = table.usual
    made: Array = u * (hi - lo) + lo
    return made


def _offset(table: Table, dtype: str, u: Array) -> Array:
    centre = 1000.0 if dtype in ("float32", "float64") else 100.0
    if table.lo > centre - 1 or table.hi < centre + 1:
        return _ordinary(table, u)
    made: Array = 2 * u + (centre - 1)
    return made


def _near_eps(table: Table, r: Array, u: Array) -> Array:
    most = np.broadcast_to(NEAR_EPS[(r * 8).astype(np.int64)], u.shape)
    made = u * most if table.lo >= 0 else -(u * most) if table.hi <= 0 else (2 * u - 1) * most
    outside = (table.lo > most) | (table.hi < -most)
    return np.where(outside, _ordinary(table, u), made)


def _negative(table: Table, u: Array) -> Array:
    least = max(-10.0, table.lo)
    if table.lo >= 0 or table.hi < least / 2:
        return _ordinary(table, u)
    made: Array = least * (1 - u * 0.5)
    return made


def _power(table: Table, u: Array) -> Array:
    most = min(table.hi, max(1.0, 8 * table.lo))
    if most <= 0:
        return _ordinary(table, u)
    top = math.frexp(most)[1] - 1
    if math.ldexp(1.0, top) < table.lo:
        return _ordinary(table, u)
    low = np.ldexp(1.0, top - (u * 4).astype(np.int64))
    return np.where(low >= table.lo, low, math.ldexp(1.0, top))


def _ties(table: Table, r: Array, u: Array, numbers: Array, alike: bool) -> Array:
    """Fills rows with ties. alike: all rows have the same power of two and no second extreme."""
    if table.is_scale:
        return _power(table, u)
    if table.shift == 0:
        return _ordinary(table, u)
    eighth = r * 8
    if alike:
        place, power = np.floor(r * table.length), np.full_like(r, table.shift)
    else:
        place = np.floor((eighth - np.floor(eighth)) * table.length)
        power = np.ldexp(table.shift, -np.maximum(0.0, np.floor(eighth) - 4).astype(np.int64))
    wide = u * 254
    whole = np.floor(wide) - 127
    kind = ((wide - np.floor(wide)) * 8).astype(np.int64)
    whole = np.where(kind >= 4, (whole.astype(np.int64) + 128) % 8 - 4, whole)
    columns = np.arange(table.length, dtype=np.float64)
    made = np.where(columns == place, 127.0, np.ldexp(whole + 0.5, -(kind % 4)))
    if not alike and table.length > 1:
        made = np.where((numbers % 2 == 1) & (columns == (place + 1) % table.length), -128.0, made)
    made = made * power
    folded: Array = np.abs(made) if table.lo >= 0 else -np.abs(made) if table.hi <= 0 else made
    return folded


def _stairs(table: Table, form: str, r: Array, u: Array) -> Array:
    lo, hi = table.reach
    width, columns = hi - lo, np.arange(table.length, dtype=np.float64)
    if form == "spike":
        return np.where(columns == np.floor(r * table.length), hi, u * (width / 64) + lo)
    part = (columns + u) / table.length
    if form == "falling":
        falling: Array = hi - part * width
        return falling
    rising: Array = part * (-lo if form == "rising_below_zero" and lo < 0 < hi else width) + lo
    return rising


def fill(case: dict[str, Any], tensor: dict[str, Any], domain: tuple[float, float], usual: tuple[float, float], count: int,
         largest: float | None) -> Array:  # fmt: skip
    """Returns the float64 values of a strategy in PATTERNS."""
    strategy, name, turn = case["value_strategy"], tensor["name"], _turn(case)
    table = _table(tensor["dtype"], domain, usual, tensor["shape"], count, largest)
    row = table.length
    r, u = _draws(case, "rows/" + name, count // row)[:, None], _draws(case, "input/" + name, count).reshape(-1, row)
    made = np.zeros_like(u)
    forms = np.array([_form(strategy, turn, number, table.rows == 1) for number in range(len(u))])
    for form in sorted(set(forms.tolist())):
        at = np.flatnonzero(forms == form)
        if form == "offset":
            made[at] = _offset(table, tensor["dtype"], u[at])
        elif form == "near_eps":
            made[at] = _near_eps(table, r[at], u[at])
        elif form == "ties":
            made[at] = _ties(table, r[at], u[at], at[:, None], strategy == "exact_ties")
        elif form == "negative":
            made[at] = _negative(table, u[at])
        elif form == "constant":
            made[at] = np.broadcast_to(_ordinary(table, r[at]), u[at].shape)
        elif form == "row_by_row":
            made[at] = (at[:, None] % table.rows + u[at]) / table.rows * (table.reach[1] - table.reach[0]) + table.reach[0]
        elif form != "zeros":
            made[at] = _stairs(table, form, r[at], u[at])
    # In this range exp is subnormal or zero, which the usual formulas of sigmoids lose.
    step = np.where(forms == "ties", 30.0, -30.0)[:, None]
    flat: Array = np.where((made > -115) & (made < -87), made + step, made).reshape(-1)
    return flat


def plant(case: dict[str, Any], tensor: dict[str, Any], excluded: Sequence[float], made: Array) -> None:
    """Writes the NaNs and infinities of row_specials into values, except those in `excluded`."""
    length = int(tensor["shape"][-1]) if tensor["shape"] else 1
    rows, turn = made.size // length, _turn(case)
    draws, step = _draws(case, "rows/" + tensor["name"], rows), max(1, rows // SPECIAL_ROWS)
    for i in range(min(SPECIAL_ROWS, -(-rows // step))):
        value, odd, whole = SPECIALS[(turn if rows == 1 else turn * 2 + i) % len(SPECIALS)]
        if value == 0 or value in excluded:
            continue
        draw, row = float(draws[i * step]), made[i * step * length : (i * step + 1) * length]
        if whole:
            part = (length + 3) // 4 if rows == 1 else length
            first, until = int(draw * (length - part + 1)), part
            row[first : first + until] = rng.cast(np.array([value]), tensor["dtype"])[0]
            continue
        pairs = length // 2 if odd else (length + 1) // 2
        row[2 * int(draw * pairs) + odd if pairs else 0] = rng.cast(np.array([value]), tensor["dtype"])[0]


def next_above(value: float, normal: float, subnormal: float, ulp: float) -> float:
    """Returns the next larger number of a format. normal, subnormal: its smallest numbers; ulp: the distance above 1."""
    if value < 0:
        return -next_below(-value, normal, subnormal, ulp)
    return value + (subnormal if value < normal else math.ldexp(ulp, math.frexp(value)[1] - 1))


def next_below(value: float, normal: float, subnormal: float, ulp: float) -> float:
    """Returns the next smaller number of a format."""
    if value <= 0:
        return -next_above(-value, normal, subnormal, ulp)
    if value <= normal:
        return value - subnormal
    mantissa, exponent = math.frexp(value)
    return value - math.ldexp(ulp, exponent - 2 if mantissa == 0.5 else exponent - 1)


def _is_exact(number: float) -> bool:
    return bool((math.frexp(number)[0] * float(2**EXACT_BITS)).is_integer())


def around(numbers: Sequence[float], rounded: Sequence[float] | None, limits: tuple[float, float, float], domain: tuple[float, float]) -> list[float]:
    """Returns the numbers and their neighbours, as far as they are in the domain. rounded: the numbers rounded to the format
    whose smallest normal, smallest subnormal and distance above 1 are `limits`; None for integers."""
    found: list[float] = []
    for i, number in enumerate(numbers):
        if rounded is None:
            found += [number - 1, number, number + 1]
        elif math.isfinite(rounded[i]):
            middle = [number] if rounded[i] == number and _is_exact(number) else []
            found += [next_below(rounded[i], *limits), *middle, next_above(rounded[i], *limits)]
    return [one for one in found if domain[0] <= one <= domain[1]]
