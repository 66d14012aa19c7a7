"""The input values of a generated case, bit for bit those of the daemon (daemon/fuzz/fill.cc)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gpuemu import linear, rng
from gpuemu.tensors import Array

FLOATS = {  # max, smallest normal, smallest subnormal, ulp of one
    "float16": (65504.0, 2.0**-14, 2.0**-24, 2.0**-10),
    "bfloat16": (float.fromhex("0x1.FEp127"), 2.0**-126, 2.0**-133, 2.0**-7),
    "float32": (float.fromhex("0x1.FFFFFEp127"), 2.0**-126, 2.0**-149, 2.0**-23),
    "float64": (float.fromhex("0x1.FFFFFFFFFFFFFp1023"), 2.0**-1022, 2.0**-1074, 2.0**-52),
}


STRATEGIES = (
    "bits_uniform", "normal", "uniform10", "small_int", "offset", "tiny", "subnormal", "all_neg", "all_pos", "impulse", "ascend",
    "descend", "constant", "zeros", "large", "duplicates", "signed_zero", "sorted_ties", "int_extremes", "one_nan", "one_inf",
    "one_ninf", "special", "near_max", "mixed_adversarial",
)  # fmt: skip


class Domain(NamedTuple):
    lo: float
    hi: float
    declared: bool


class Recipe(NamedTuple):
    distribution: str
    params: tuple[float, float]
    core: tuple[float, float]
    symmetric: bool = False
    factor: float = 1.0


def round_to(dtype: str, value: float) -> float:
    """A float rounded to a floating-point dtype."""
    array = np.array([value], dtype=np.float64)
    cast = rng.cast(array, dtype)
    return float(rng.bfloat16_values(cast)[0] if dtype == "bfloat16" else cast[0])


def _round_inward(dtype: str, value: float, upward: bool) -> float:
    def fits(x: float) -> bool:
        return x >= value if upward else x <= value

    rounded = round_to(dtype, value)
    if fits(rounded):
        return rounded
    _, _, subnormal, ulp = FLOATS[dtype]
    distance = max(abs(rounded) * ulp, subnormal)
    for i in range(1, 5):
        probe = round_to(dtype, value + (distance if upward else -distance) * (0.25 * i))
        if fits(probe):
            return probe
    return rounded


def _clamp(value: float, lo: float, hi: float) -> float:
    return lo if value < lo else hi if value > hi else value


def _domain(dtype: str, strategy: str, declared: Any) -> Domain:
    if dtype in FLOATS:
        most = FLOATS[dtype][0]
        if declared is None:
            return Domain(-most, most, False)
        lo = _round_inward(dtype, max(float(declared[0]), -most), True)
        hi = _round_inward(dtype, min(float(declared[1]), most), False)
        return Domain(lo, max(lo, hi), True)
    if dtype == "bool":
        least, most = 0.0, 1.0
    else:
        # As float64 counts: the largest 64-bit values are rounded up.
        least, most = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    if declared is not None:
        lo = _clamp(float(np.ceil(declared[0])), least, most)
        return Domain(lo, max(lo, _clamp(float(np.floor(declared[1])), least, most)), True)
    if strategy == "int_extremes" or dtype == "bool":
        return Domain(least, most, False)
    return Domain(-100.0, 99.0, False) if least < 0 else Domain(0.0, 199.0, False)


def _usual(dtype: str, domain: Domain) -> tuple[float, float]:
    if not domain.declared and dtype in FLOATS:
        return -10.0, 10.0
    if math.isfinite(domain.hi - domain.lo):
        return domain.lo, domain.hi
    return domain.lo / 2, domain.hi / 2


def _uniform(dtype: str, domain: Domain) -> Recipe:
    lo, hi = _usual(dtype, domain)
    if dtype in FLOATS:
        return Recipe("uniform", (lo, hi), (lo, hi))
    whole = (_clamp(lo, -(2.0**53), 2.0**53), _clamp(hi, -(2.0**53), 2.0**53))
    return Recipe("integer", whole, (lo, hi))


def _float_recipe(dtype: str, strategy: str, domain: Domain) -> Recipe:
    largest, normal, subnormal, _ = FLOATS[dtype]
    if strategy == "bits_uniform":
        return Recipe("log_uniform", (-12, 4), (-1, 1), True)
    if strategy == "normal":
        return Recipe("normal", (0, 1), (-1, 1), True)
    if strategy == "offset":
        centre = 1000.0 if dtype in ("float32", "float64") else 100.0
        return Recipe("uniform", (centre - 1, centre + 1), (centre - 1, centre + 1))
    if strategy == "tiny":
        return Recipe("uniform", (-4 * normal, 4 * normal), (-4 * normal, 4 * normal), True)
    if strategy == "subnormal":
        most = 100 * subnormal
        return Recipe("integer", (-100, 100), (-most, most), True, subnormal)
    if strategy == "all_neg":
        return Recipe("uniform", (-10.0, -5.0), (-10, -5))
    if strategy == "all_pos":
        return Recipe("uniform", (5.0, 10.0), (5, 10))
    if strategy == "near_max":
        top = math.frexp(largest)[1] - 1
        return Recipe("log_uniform", (top - 2, top), (-largest, largest), True)
    if strategy == "mixed_adversarial":
        return Recipe("normal", (0, 1), (-1, 1), True)
    if strategy == "large":
        most = min(1e15, math.sqrt(largest) / 2)
        if domain.declared:
            most = min(most, max(abs(domain.lo), abs(domain.hi)))
        return Recipe("uniform", (-most, most), (-most, most), True)
    return _uniform(dtype, domain)


def _recipe(dtype: str, strategy: str, domain: Domain) -> Recipe:
    if strategy == "small_int":
        recipe = Recipe("integer", (-3, 3), (-3, 3), True)
    elif dtype in FLOATS:
        recipe = _float_recipe(dtype, strategy, domain)
    else:
        recipe = _uniform(dtype, domain)
    lo, hi = recipe.core
    if recipe.symmetric and domain.lo >= 0:
        lo = 0
    if recipe.symmetric and domain.hi <= 0:
        hi = 0
    return _uniform(dtype, domain) if hi < domain.lo or lo > domain.hi else recipe


Source = tuple[str, tuple[float, float], "Callable[[Array], Array]"]  # A distribution, and what its draws become.


def _source(recipe: Recipe, domain: Domain) -> Source:
    def values(drawn: Array) -> Array:
        made = drawn if drawn.dtype == np.float64 else drawn.astype(np.float64)
        if recipe.factor != 1.0:
            made = made * recipe.factor
        if recipe.symmetric and domain.lo >= 0:
            made = np.abs(made)
        if recipe.symmetric and domain.hi <= 0:
            made = -np.abs(made)
        return made

    return recipe.distribution, recipe.params, values


def _choices(values: list[float]) -> Source:
    table = np.array(values, dtype=np.float64)
    return "integer", (0, len(values) - 1), lambda drawn: table[drawn]


def _ramp(shape: list[int], strategy: str, usual: tuple[float, float], count: int) -> Array:
    lo, hi = usual
    row = shape[-1] if shape else 1
    part = (np.arange(count) % row) / (float(row - 1) if row > 1 else 1.0)
    rise = part * (hi - lo)
    return lo + rise if strategy == "ascend" else hi - rise


def _ties(case: dict[str, Any], tensor: dict[str, Any], usual: tuple[float, float], count: int) -> Array:
    lo, hi = usual
    row = tensor["shape"][-1] if tensor["shape"] else 1
    levels = min(max(row // 2, 1), 8)
    part = (np.arange(count) % row * levels // row) / (float(levels - 1) if levels > 1 else 1.0)
    rise = part * (hi - lo)
    stream = rng.Stream(int(case["base_seed"]), int(case["iteration"]), "ties/" + tensor["name"])
    return hi - rise if stream.negative() else lo + rise


def _impulse(case: dict[str, Any], name: str, count: int) -> Array:
    values = np.zeros(count)
    stream = rng.Stream(int(case["base_seed"]), int(case["iteration"]), "impulse/" + name)
    for _ in range(2):
        place = stream.below(count)
        size = 1.0 + 9.0 * stream.unit64()
        values[place] = -size if stream.negative() else size
    return values


def _placed(case: dict[str, Any], tensor: dict[str, Any], domain: Domain, count: int) -> Array | None:
    """The values of a strategy by which they follow from their places; None of the others."""
    strategy, dtype, name = case["value_strategy"], tensor["dtype"], tensor["name"]
    usual = _usual(dtype, domain)
    if strategy == "zeros":
        return np.zeros(count)
    if strategy in ("ascend", "descend"):
        return _ramp(tensor["shape"], strategy, usual, count)
    if strategy == "impulse":
        return _impulse(case, name, count)
    if strategy == "constant":
        distribution, params, values = _source(_recipe(dtype, strategy, domain), domain)
        return np.full(count, values(rng.draw(_state(case, "input/" + name), distribution, params, 1))[0])
    if strategy == "sorted_ties":
        return _ties(case, tensor, usual, count)
    return None


def _drawn(case: dict[str, Any], tensor: dict[str, Any], domain: Domain) -> Source:
    """Where the values of the other strategies come from."""
    strategy, dtype = case["value_strategy"], tensor["dtype"]
    lo, hi = _usual(dtype, domain)
    if strategy == "duplicates":
        gap = (hi - lo) / 3
        return _choices([lo, lo + gap, lo + 2 * gap, hi])
    if strategy == "signed_zero" and dtype in FLOATS and domain.lo <= 0 <= domain.hi:
        return _choices([-0.0, 0.0, lo, hi])
    if strategy == "int_extremes" and dtype not in FLOATS:
        return _choices([domain.lo, domain.hi, -1.0, 0.0, 1.0])
    return _source(_recipe(dtype, strategy, domain), domain)


def _state(case: dict[str, Any], label: str) -> rng.State:
    return rng.derive_state(int(case["base_seed"]), int(case["iteration"]), label)


def _special_values(dtype: str, strategy: str) -> list[float]:
    largest, normal, subnormal, _ = FLOATS[dtype]
    table = [0.0, -0.0, 1.0, -1.0, normal, -normal, subnormal, -subnormal]
    if strategy == "special":
        return table + [math.nan, math.inf, -math.inf]
    if strategy == "mixed_adversarial":
        root = math.sqrt(largest) / 2
        return table + [root, -root, largest, -largest]
    return []


def _table(case: dict[str, Any], tensor: dict[str, Any], domain: Domain) -> tuple[Array, float]:
    """The special values that are put over what was drawn, and how often. Those that are numbers keep to the domain."""
    strategy, dtype = case["value_strategy"], tensor["dtype"]
    special = _special_values(dtype, strategy) if dtype in FLOATS else []
    kept = [_clamp(value, domain.lo, domain.hi) if math.isfinite(value) else value for value in special]
    return np.array(kept, dtype=np.float64), 0.125 if strategy == "special" else 0.5


def _inside(values: Array, domain: Domain, scale: float) -> Array:
    if scale != 1.0:
        values = values * scale
    return np.where(values < domain.lo, domain.lo, np.where(values > domain.hi, domain.hi, values))


def _plant_one(case: dict[str, Any], tensor: dict[str, Any], made: Array) -> None:
    one = {"one_nan": math.nan, "one_inf": math.inf, "one_ninf": -math.inf}
    strategy, dtype = case["value_strategy"], tensor["dtype"]
    if strategy in one and dtype in FLOATS:
        stream = rng.Stream(int(case["base_seed"]), int(case["iteration"]), "special/" + tensor["name"])
        made[stream.below(made.size)] = rng.cast(np.array([one[strategy]]), dtype)[0]


def _fill(case: dict[str, Any], tensor: dict[str, Any], count: int) -> Array:
    dtype, strategy, name = tensor["dtype"], case["value_strategy"], tensor["name"]
    domain, scale = _domain(dtype, strategy, tensor.get("range")), float(case.get("value_scale", 1.0))
    placed = _placed(case, tensor, domain, count)
    if placed is not None:
        return rng.cast(_inside(placed, domain, scale), dtype)
    distribution, params, values = _drawn(case, tensor, domain)
    table, probability = _table(case, tensor, domain)

    def made(drawn: Array, rows: Array | None) -> Array:
        found = _inside(values(drawn), domain, scale)
        if rows is not None:
            kept = rows < 0
            found = np.where(kept, found, table[np.where(kept, 0.0, rows).astype(np.int64)])
        return rng.cast(found, dtype)

    planting: tuple[str, tuple[float, float]] = ("special", (len(table), probability))
    state, other = _state(case, "input/" + name), _state(case, "special/" + name)
    if count < 128:
        rows = rng.draw(other, *planting, count) if len(table) else None
        return made(rng.draw(state, distribution, params, count), rows)
    lanes, each_log2 = linear.plan(2 * count)
    tiles = rng.GENERATOR.tiles(state, lanes, each_log2, rng.wanted(distribution))
    draws = (rng.shape_draws(distribution, params, a, b) for a, b in tiles)
    if len(table):
        over = rng.GENERATOR.tiles(other, lanes, each_log2, (True, True))
        parts = (made(drawn, rng.shape_draws(*planting, a, b)) for drawn, (a, b) in zip(draws, over))
    else:
        parts = (made(drawn, None) for drawn in draws)
    kind = np.dtype(np.uint16) if dtype == "bfloat16" else np.dtype(dtype)
    return linear.elementwise(count, kind, parts, lanes, 1 << each_log2 >> 1)


def fill_input(case: dict[str, Any], input_name: str) -> Array:
    """One input of a case with base_seed, iteration, value_strategy, value_scale and
    inputs[{name, dtype, shape, range, strides}] (strides only where one is 0); bfloat16 comes as uint16 patterns."""
    tensor = next((each for each in case["inputs"] if each["name"] == input_name), None)
    if tensor is None:
        names = ", ".join(each["name"] for each in case["inputs"])
        raise ValueError(f"the case has no input '{input_name}', expected one of {names}")
    shape = tuple(tensor["shape"])
    count = math.prod(shape)
    if count == 0:
        return rng.cast(np.zeros(0), tensor["dtype"]).reshape(shape)
    made = _fill(case, tensor, count)
    _plant_one(case, tensor, made)
    made = made.reshape(shape)
    for axis, stride in enumerate(tensor.get("strides") or ()):
        if stride == 0 and shape[axis] > 1:  # One element stands for all along the axis.
            made = np.ascontiguousarray(np.broadcast_to(made.take([0], axis), shape))
    return made
