"""Generates the input values of a case, bit for bit those of the daemon (judge/cases/fill.cc)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuemu import arguments
from gpuemu.generate import linear, native, rng, rows, value_rules, words_generated
from gpuemu.generate.linear import MASK
from gpuemu.generate.recipes import FLOATS, Domain, Source, choice_of, clamp, domain_of, recipe_of, round_to, source_of, usual_range
from gpuemu.tensors import Array

STRATEGIES = words_generated.VALUE_STRATEGIES
PART = 1 << 15  # Elements of a long row that are computed at once, so that they stay in the processor's cache.


def _ramp(row: int, strategy: str, usual: tuple[float, float]) -> Callable[[Array], Array]:
    lo, hi = usual

    def values(at: Array) -> Array:
        at /= float(row - 1) if row > 1 else 1.0
        at *= hi - lo
        return np.add(lo, at, at) if strategy == "ascend" else np.subtract(hi, at, at)

    return values


def _ties(case: dict[str, Any], name: str, row: int, usual: tuple[float, float]) -> Callable[[Array], Array]:
    lo, hi = usual
    levels = min(max(row // 2, 1), 8)
    falling = rng.Stream(int(case["base_seed"]), int(case["iteration"]), "ties/" + name).negative()

    def values(at: Array) -> Array:
        part = (at.astype(np.int64) * levels // row) / (float(levels - 1) if levels > 1 else 1.0)
        rise: Array = part * (hi - lo)
        return hi - rise if falling else lo + rise

    return values


def _impulse(case: dict[str, Any], name: str, count: int) -> dict[int, float]:
    """Returns the nonzero values by index."""
    found: dict[int, float] = {}
    stream = rng.Stream(int(case["base_seed"]), int(case["iteration"]), "impulse/" + name)
    for _ in range(2):
        place = stream.below(count)
        size = 1.0 + 9.0 * stream.unit64()
        found[place] = -size if stream.negative() else size
    return found


class Repeated(NamedTuple):
    """A row, or a single value, that is repeated: its size, and values at certain indices (float64, which the caller may
    change)."""

    size: int
    values: Callable[[Array], Array]


def _repeated(case: dict[str, Any], tensor: dict[str, Any], domain: Domain) -> Repeated | None:
    """Returns the repeated row of a strategy for which all rows are equal; None for other strategies."""
    strategy, dtype, name = case["value_strategy"], tensor["dtype"], tensor["name"]
    usual, row = usual_range(dtype, domain), tensor["shape"][-1] if tensor["shape"] else 1
    if strategy in ("zeros", "impulse"):
        return Repeated(1, np.zeros_like)
    if strategy in ("ascend", "descend"):
        return Repeated(row, _ramp(row, strategy, usual))
    if strategy == "constant":
        source = source_of(recipe_of(dtype, strategy, domain), domain)
        one = source.become(rng.draw(_state(case, "input/" + name), source.distribution, source.params, 1))
        return Repeated(1, lambda at: one)
    if strategy == "sorted_ties":
        return Repeated(row, _ties(case, name, row, usual))
    return None


def _drawn(case: dict[str, Any], tensor: dict[str, Any], domain: Domain) -> Source:
    """Returns the source of values for the other strategies."""
    strategy, dtype = case["value_strategy"], tensor["dtype"]
    lo, hi = usual_range(dtype, domain)
    if strategy == "duplicates":
        gap = (hi - lo) / 3
        return choice_of([lo, lo + gap, lo + 2 * gap, hi])
    if strategy == "signed_zero" and dtype in FLOATS and domain.lo <= 0 <= domain.hi:
        return choice_of([-0.0, 0.0, lo, hi])
    if strategy == "int_extremes" and dtype not in FLOATS:
        return choice_of([domain.lo, domain.hi, -1.0, 0.0, 1.0])
    return source_of(recipe_of(dtype, strategy, domain), domain)


def _state(case: dict[str, Any], label: str) -> rng.State:
    return rng.derive_state(int(case["base_seed"]), int(case["iteration"]), label)


def _is_excluded(value: float, domain: Domain) -> bool:
    """True for an infinity on a side where the domain has no numbers."""
    return math.isinf(value) and (domain.hi <= 0 if value > 0 else domain.lo >= 0)


def _thresholds(case: dict[str, Any], dtype: str, domain: Domain) -> list[float]:
    """Returns the numbers of a case of thresholds, and their neighbours."""
    numbers = [float(number) for number in case.get("value_parameters") or []]
    of_floats = case["value_strategy"] == "thresholds"
    if dtype in FLOATS and not of_floats:
        return []
    if dtype not in FLOATS and of_floats:  # Integers beside floats get only the whole numbers.
        numbers = [number for number in numbers if number.is_integer()]
    rounded = [round_to(dtype, number) for number in numbers] if dtype in FLOATS else None
    return rows.around(numbers, rounded, FLOATS.get(dtype, (0.0,) * 4)[1:], (domain.lo, domain.hi))


def _special_values(case: dict[str, Any], dtype: str, domain: Domain) -> list[float]:
    if case["value_strategy"] in ("thresholds", "int_thresholds"):
        return _thresholds(case, dtype, domain)
    if dtype not in FLOATS:
        return []
    largest, normal, subnormal, _ = FLOATS[dtype]
    table = [0.0, -0.0, 1.0, -1.0]
    if case["value_strategy"] == "special":
        families = [normal, -normal, subnormal, -subnormal], [math.inf], [-math.inf], [math.nan]
        drawn = rng.Stream(int(case["base_seed"]), int(case["iteration"]), "special").below(4)
        return table + [value for value in families[drawn] if not _is_excluded(value, domain)]
    if case["value_strategy"] == "mixed_adversarial":
        root = math.sqrt(largest) / 2
        return table + [normal, -normal, subnormal, -subnormal, root, -root, largest, -largest]
    return []


def _table(case: dict[str, Any], tensor: dict[str, Any], domain: Domain) -> tuple[Array, float]:
    """Returns the special values that replace drawn ones, and how often. Finite ones are clamped to the domain."""
    strategy, dtype = case["value_strategy"], tensor["dtype"]
    special = _special_values(case, dtype, domain)
    kept = [clamp(value, domain.lo, domain.hi) if math.isfinite(value) else value for value in special]
    return np.array(kept, dtype=np.float64), 0.125 if strategy == "special" else 0.5


def _is_inside(domain: Domain, scale: float, reach: tuple[float, float]) -> bool:
    """True if the interval `reach` is in the domain after scaling."""
    lo, hi = sorted((reach[0] * scale, reach[1] * scale))
    return domain.lo <= lo and hi <= domain.hi


def _inside(values: Array, domain: Domain, scale: float, reach: tuple[float, float]) -> Array:
    """Scales the values and clamps them to the domain, in place. `reach`: the interval of the values before."""
    if scale != 1.0:
        values *= scale
    if _is_inside(domain, scale, reach):
        return values
    if domain.lo != 0 and domain.hi != 0:
        np.maximum(values, domain.lo, out=values)
        np.minimum(values, domain.hi, out=values)
        return values
    # maximum and minimum may return either of two zeros with different signs; a comparison keeps the value.
    np.copyto(values, domain.lo, where=values < domain.lo)
    np.copyto(values, domain.hi, where=values > domain.hi)
    return values


def _kind(dtype: str) -> np.dtype[Any]:
    """Returns NumPy's type for the bits of a dtype."""
    return np.dtype(np.uint16 if dtype == "bfloat16" else dtype)


class Filler:
    """Computes the values of a tensor from tiles of draws. `dtype` is NumPy's; bfloat16 is stored as uint16."""

    TABLE_MAX = 4096  # Draws with at most this many values are looked up in a table of rounded values.

    def __init__(self, source: Source, domain: Domain, scale: float, tensor: dict[str, Any], count: int, special: Array) -> None:
        self.source, self.domain, self.scale, self.name = source, domain, scale, tensor["dtype"]
        self.dtype = _kind(self.name)
        self.special = rng.cast(special, self.name)
        self.work, self.other = rng.Work(), rng.Work()
        lo, hi = (int(one) for one in source.params) if source.distribution == "integer" else (0, MASK)
        few = source.choices is not None or hi - lo < min(self.TABLE_MAX, count // 4)
        self.table = self._rounded(np.arange(lo, hi + 1)) if few else None

    def _rounded(self, drawn: Array) -> Array:
        values = self.source.become(drawn)
        return rng.cast(_inside(values, self.domain, self.scale, self.source.reach), self.name)

    def values(self, a: Array, b: Array) -> Array:
        """Returns the values for the two outputs of each element."""
        if self.table is None:
            return self._rounded(rng.shape_draws(self.source.distribution, self.source.params, a, b, self.work))
        rows = rng.high_product(a, len(self.table), self.work)
        return np.take(self.table, rows.view(np.int64), out=self.work(a, self.dtype.str, "values"), mode="clip")

    def native(self, state: rng.State, other: rng.State, probability: float, count: int) -> Array | None:
        """Computes all values in machine code; returns None if the library cannot."""
        source = self.source
        if not native.can_draw(source.distribution, source.params):
            return None
        inside = (-math.inf, math.inf) if _is_inside(self.domain, self.scale, source.reach) else (self.domain.lo, self.domain.hi)
        made: Array = np.empty(count, dtype=self.dtype)
        done = native.draw(state, source.distribution, source.params, self.name, made, factor=source.factor, fold=source.fold,
                           scale=self.scale, inside=inside, table=self.table, special=self.special if len(self.special) else None,
                           special_state=other, probability=probability)  # fmt: skip
        return made if done else None

    def plant(self, made: Array, probability: float, a: Array, b: Array) -> Array:
        """Replaces some of the values in `made` by special values."""
        places = np.flatnonzero(rng.less(b, probability, self.other))
        rows = rng.high_product(a.reshape(-1)[places], len(self.special), self.other)
        made.reshape(-1)[places] = self.special[rows.view(np.int64)]
        return made


def _choose_signs(case: dict[str, Any], tensor: dict[str, Any], made: Array) -> None:
    """Makes one of four rows of `int_wide` negative and one positive, by turns."""
    dtype = tensor["dtype"]
    if case["value_strategy"] != "int_wide" or dtype in FLOATS or made.dtype.kind != "i":
        return
    domain = domain_of(dtype, "int_wide", tensor.get("range"))
    if domain.lo >= 0 or domain.hi <= 0:
        return
    turn = (np.arange(made.size) // (int(tensor["shape"][-1]) if tensor["shape"] else 1) + int(case["iteration"])) % 4
    # The least number has no opposite.
    lo, hi = int(domain.lo), min(int(domain.hi), int(np.iinfo(made.dtype).max))
    below = np.where(made > 0, -made, made)
    np.copyto(made, np.maximum(below, lo), where=turn == 1)
    np.copyto(made, np.minimum(-np.maximum(below, -hi), hi), where=turn == 3)


def _plant_one(case: dict[str, Any], tensor: dict[str, Any], made: Array) -> None:
    one = {"one_nan": math.nan, "one_inf": math.inf, "one_ninf": -math.inf}
    strategy, dtype = case["value_strategy"], tensor["dtype"]
    domain = domain_of(dtype, strategy, tensor.get("range"))
    if strategy == "row_specials" and dtype in FLOATS:
        rows.plant(case, tensor, [value for value in (math.inf, -math.inf) if _is_excluded(value, domain)], made)
    if strategy in one and dtype in FLOATS and not _is_excluded(one[strategy], domain):
        stream = rng.Stream(int(case["base_seed"]), int(case["iteration"]), "special/" + tensor["name"])
        made[_planted_places(stream, strategy, tensor["shape"], made.size)] = rng.cast(np.array([one[strategy]]), dtype)[0]


def _planted_places(stream: rng.Stream, strategy: str, shape: Sequence[int], count: int) -> slice:
    """Returns the index of one element or, for the infinities in three of four cases, those of a row of the last axis (a quarter of
    a tensor with one row)."""
    place = stream.below(count)
    if strategy == "one_nan" or stream.below(4) == 0:
        return slice(place, place + 1)
    row = int(shape[-1]) if shape else 1
    length = row if row < count else (count + 3) // 4
    first = place // length * length
    return slice(first, first + length)


def _fill_repeated(case: dict[str, Any], tensor: dict[str, Any], domain: Domain, repeated: Repeated, count: int) -> Array:
    scale, dtype = float(case.get("value_scale", 1.0)), tensor["dtype"]

    def rounded(values: Array) -> Array:
        return rng.cast(_inside(values, domain, scale, (-math.inf, math.inf)), dtype)

    made = np.empty((count // repeated.size, repeated.size), dtype=_kind(dtype))
    for start in range(0, repeated.size, PART):
        places = np.arange(start, min(start + PART, repeated.size), dtype=np.float64)
        made[:, start : start + PART] = rounded(repeated.values(places))
    flat = made.reshape(-1)
    if case["value_strategy"] == "impulse":
        for place, value in _impulse(case, tensor["name"], count).items():
            flat[place] = rounded(np.array([value]))[0]
    return flat


def _fill(case: dict[str, Any], tensor: dict[str, Any], count: int) -> Array:
    dtype, strategy, name = tensor["dtype"], case["value_strategy"], tensor["name"]
    domain = domain_of(dtype, strategy, tensor.get("range"))
    repeated = _repeated(case, tensor, domain)
    if repeated is not None:
        return _fill_repeated(case, tensor, domain, repeated, count)
    if strategy in rows.PATTERNS and dtype in FLOATS:
        largest = FLOATS[dtype][0] if domain.declared and strategy == "tile_maxima" else None
        drawn = rows.fill(case, tensor, (domain.lo, domain.hi), usual_range(dtype, domain), count, largest)
        return rng.cast(_inside(drawn, domain, float(case.get("value_scale", 1.0)), (-math.inf, math.inf)), dtype)
    source = _drawn(case, tensor, domain)
    special, probability = _table(case, tensor, domain)
    filler = Filler(source, domain, float(case.get("value_scale", 1.0)), tensor, count, special)
    state, other = _state(case, "input/" + name), _state(case, "special/" + name)
    done = filler.native(state, other, probability, count)
    if done is not None:
        return done
    if count < 128:
        pairs = rng.outputs(state, 2 * count)
        made = filler.values(pairs[0::2].copy(), pairs[1::2].copy())
        if len(special):
            pairs = rng.outputs(other, 2 * count)
            made = filler.plant(made, probability, pairs[0::2].copy(), pairs[1::2].copy())
        return made
    lanes, each_log2 = linear.plan(2 * count)
    wanted = rng.wanted(source.distribution)
    parts = (filler.values(a, b) for a, b in rng.GENERATOR.tiles(state, lanes, each_log2, wanted))
    if len(special):
        over = rng.GENERATOR.tiles(other, lanes, each_log2, (True, True))
        parts = (filler.plant(made, probability, a, b) for made, (a, b) in zip(parts, over))
    return linear.elementwise(count, filler.dtype, parts, lanes, 1 << each_log2 >> 1)


def fill_input(case: dict[str, Any], input_name: str) -> Array:
    """Generates one input of a case with base_seed, iteration, value_strategy, value_scale, value_parameters and inputs[{name,
    dtype, shape, range, distinct, sorted, strides}] (strides only if one is 0); bfloat16 is returned as uint16 bits."""
    tensor = next((each for each in case["inputs"] if each["name"] == input_name), None)
    if tensor is None:
        names = ", ".join(each["name"] for each in case["inputs"])
        raise ValueError(f"the case has no input '{input_name}', expected one of {names or 'none'}")
    shape = arguments.shape(tensor["shape"], f"the shape of '{input_name}'")
    arguments.dtype(tensor["dtype"], f"the dtype of '{input_name}'")
    arguments.bounds(tensor.get("range"), f"the range of '{input_name}'")
    if case["value_strategy"] not in STRATEGIES:
        raise ValueError(f"unknown strategy {case['value_strategy']}; there are {', '.join(STRATEGIES)}")
    count = math.prod(shape)
    if count == 0:
        return rng.cast(np.zeros(0), tensor["dtype"]).reshape(shape)
    with np.errstate(over="ignore"):  # A scale may move a value out of the domain, which clamps it.
        made = _fill(case, tensor, count)
    _choose_signs(case, tensor, made)
    _plant_one(case, tensor, made)
    if tensor.get("distinct") or tensor.get("sorted"):
        domain = domain_of(tensor["dtype"], case["value_strategy"], tensor.get("range"))
        made = value_rules.keep(made, tensor["dtype"], int(shape[-1]) if shape else 1, (domain.lo, domain.hi),
                                bool(tensor.get("distinct")), bool(tensor.get("sorted")))  # fmt: skip
    made = made.reshape(shape)
    for axis, stride in enumerate(tensor.get("strides") or ()):
        if stride == 0 and shape[axis] > 1:  # All indices along this axis refer to one element.
            made = np.ascontiguousarray(np.broadcast_to(made.take([0], axis), shape))
    return made
