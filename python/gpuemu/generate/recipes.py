"""The sources of a case's values: the domain of a tensor, and the distribution that a strategy uses for it."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from gpuemu.generate import rng
from gpuemu.tensors import Array

FLOATS = {  # max, smallest normal, smallest subnormal, ulp of one
    "float16": (65504.0, 2.0**-14, 2.0**-24, 2.0**-10),
    "bfloat16": (float.fromhex("0x1.FEp127"), 2.0**-126, 2.0**-133, 2.0**-7),
    "float32": (float.fromhex("0x1.FFFFFEp127"), 2.0**-126, 2.0**-149, 2.0**-23),
    "float64": (float.fromhex("0x1.FFFFFFFFFFFFFp1023"), 2.0**-1022, 2.0**-1074, 2.0**-52),
}
# Integer inputs beside floats are packed numbers more often than indices, so these strategies for floats draw all of their bits.
ALL_BITS = ("tile_maxima", "row_mix", "bits_uniform", "large")


class Domain(NamedTuple):
    """The allowed values: both ends are included and are numbers of the dtype; `declared`: the domain comes from gpuemu.toml."""
    lo: float
    hi: float
    declared: bool


class Recipe(NamedTuple):
    """A distribution, the interval with most of its values (`core`), whether it has both signs, and the factor for each value."""
    distribution: str
    params: tuple[float, float]
    core: tuple[float, float]
    symmetric: bool = False
    factor: float = 1.0


def round_to(dtype: str, value: float) -> float:
    """Rounds a float to a floating-point dtype."""
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


def clamp(value: float, lo: float, hi: float) -> float:
    return lo if value < lo else hi if value > hi else value


def domain_of(dtype: str, strategy: str, declared: Any) -> Domain:
    """Returns the domain of a tensor: its declared range, else the range that the dtype and the strategy allow."""
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
        # In float64 the largest 64-bit integers are rounded up.
        least, most = float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)
    if declared is not None:
        lo = clamp(float(np.ceil(declared[0])), least, most)
        return Domain(lo, max(lo, clamp(float(np.floor(declared[1])), least, most)), True)
    if strategy in ("int_extremes", "int_wide", "int_thresholds") or dtype == "bool":
        return Domain(least, most, False)
    if dtype in ("uint16", "uint32") and strategy in ALL_BITS:
        return Domain(least, most, False)
    return Domain(-100.0, 99.0, False) if least < 0 else Domain(0.0, 199.0, False)


def usual_range(dtype: str, domain: Domain) -> tuple[float, float]:
    """Returns the range of values for strategies that do not choose another one."""
    if not domain.declared and dtype in FLOATS:
        return -10.0, 10.0
    if math.isfinite(domain.hi - domain.lo):
        return domain.lo, domain.hi
    return domain.lo / 2, domain.hi / 2


def _uniform(dtype: str, domain: Domain) -> Recipe:
    lo, hi = usual_range(dtype, domain)
    if dtype in FLOATS:
        return Recipe("uniform", (lo, hi), (lo, hi))
    whole = (clamp(lo, -(2.0**53), 2.0**53), clamp(hi, -(2.0**53), 2.0**53))
    return Recipe("integer", whole, (lo, hi))


def _offset(centre: float, domain: Domain) -> Recipe:
    lo, hi = centre - 1, centre + 1
    if domain.lo > hi or domain.hi < lo:
        width = min(2.0, (domain.hi - domain.lo) / 50)
        below = abs(domain.lo) >= abs(domain.hi)
        lo, hi = (domain.lo, domain.lo + width) if below else (domain.hi - width, domain.hi)
    return Recipe("uniform", (lo, hi), (lo, hi))


def _float_recipe(dtype: str, strategy: str, domain: Domain) -> Recipe:
    largest, normal, subnormal, _ = FLOATS[dtype]
    if strategy == "bits_uniform":
        return Recipe("log_uniform", (-12, 4), (-1, 1), True)
    if strategy == "normal":
        return Recipe("normal", (0, 1), (-1, 1), True)
    if strategy == "unit":
        return Recipe("uniform", (0.0, 1.0), (0, 1))
    if strategy == "offset":
        return _offset(1000.0 if dtype in ("float32", "float64") else 100.0, domain)
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


def recipe_of(dtype: str, strategy: str, domain: Domain) -> Recipe:
    """Returns the recipe of a strategy; a uniform one if the domain has none of the strategy's values."""
    if strategy == "int_wide" and dtype not in FLOATS and dtype != "bool":
        limits = np.iinfo(dtype)
        recipe = Recipe("log_uniform", (0, limits.bits - (2 if limits.min < 0 else 1)), (-1, 1), True)
    elif strategy == "small_int":
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


class Source(NamedTuple):
    """A distribution, and how its draws become values in the interval `reach`: each is multiplied by `factor`, and with `fold` 1
    replaced by its magnitude, with -1 by the negative magnitude; or it selects a value of `choices`."""

    distribution: str
    params: tuple[float, float]
    reach: tuple[float, float]
    factor: float = 1.0
    fold: int = 0
    choices: Array | None = None

    def become(self, drawn: Array) -> Array:
        """Returns the values as float64; may reuse the memory of the draws."""
        if self.choices is not None:
            picked: Array = self.choices[drawn]
            return picked
        made = drawn if drawn.dtype == np.float64 else drawn.astype(np.float64)
        if self.factor != 1.0:
            made *= self.factor
        if self.fold:
            np.abs(made, made)
        if self.fold < 0:
            np.negative(made, made)
        return made


def _reach(recipe: Recipe) -> tuple[float, float]:
    """Returns the interval of a recipe's draws."""
    first, second = recipe.params
    if recipe.distribution == "integer":
        lo, hi = first, second
    elif recipe.distribution == "log_uniform":
        hi = math.ldexp(1.0, int(second) + 1) if second < 1023 else math.inf
        lo = -hi
    elif recipe.distribution == "normal":
        lo, hi = first - 9 * second, first + 9 * second
    else:
        slack = 1e-15 * (abs(first) + abs(second))  # The last sum of a draw is rounded.
        lo, hi = first - slack, second + slack
    return lo * recipe.factor, hi * recipe.factor


def source_of(recipe: Recipe, domain: Domain) -> Source:
    """Returns the draws of a recipe, with the sign that the domain allows."""
    fold = 0 if not recipe.symmetric else -1 if domain.hi <= 0 else 1 if domain.lo >= 0 else 0
    lo, hi = _reach(recipe)
    if fold:
        most = max(abs(lo), abs(hi))
        lo, hi = (0.0, most) if fold > 0 else (-most, 0.0)
    return Source(recipe.distribution, recipe.params, (lo, hi), recipe.factor, fold)


def choice_of(values: list[float]) -> Source:
    """Returns a source that chooses one of these values for each element."""
    table = np.array(values, dtype=np.float64)
    return Source("integer", (0, len(values) - 1), (min(values), max(values)), choices=table)
