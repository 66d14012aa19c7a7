"""The project's random numbers, bit for bit those of the daemon (documented under random streams).

A stream is named by (base seed, iteration, label). Element i of a tensor uses outputs 2i and 2i+1.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence

import numpy as np

from gpuemu import arguments
from gpuemu.generate import linear, native
from gpuemu.generate.legacy import SeededRng, derive_seed, generate_seed
from gpuemu.generate.linear import MASK, State
from gpuemu.generate.rounding import bfloat16_bits, bfloat16_values, cast
from gpuemu.tensors import Array

__all__ = ["MASK", "SeededRng", "State", "Stream", "bfloat16_bits", "bfloat16_values", "case_seed", "cast", "derive_seed",
           "derive_state", "draw", "generate", "generate_seed", "jump", "outputs", "step"]  # fmt: skip


def _named(base_seed: int, iteration: int, label: str) -> bytes:
    try:
        return struct.pack("<QQ", base_seed, iteration) + label.encode()
    except struct.error:
        arguments.seed(base_seed, "base_seed")
        arguments.seed(iteration, "iteration")
        raise


def derive_state(base_seed: int, iteration: int, label: str) -> State:
    """Returns the initial state of the named stream. Raises ValueError for numbers that do not fit in 64 bits."""
    text = _named(base_seed, iteration, label)
    s0, s1 = struct.unpack("<QQ", hashlib.blake2b(text, digest_size=16).digest())
    return (s0, s1) if s0 or s1 else (0, 1)


def case_seed(base_seed: int, iteration: int, op: str) -> int:
    """Returns the 64-bit seed of a case."""
    text = _named(base_seed, iteration, op)
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def step(state: State) -> tuple[int, State]:
    """Returns the output of a state and the state after it."""
    x, y = state
    output = (x + y) & MASK
    x ^= (x << 23) & MASK
    return output, (y, x ^ y ^ (x >> 18) ^ (y >> 5))


class Stream:
    """One stream of draws; each takes one output."""

    def __init__(self, base_seed: int, iteration: int, label: str) -> None:
        self.state = derive_state(base_seed, iteration, label)

    def u64(self) -> int:
        """Returns the next output, 0 to 2**64 - 1."""
        output, self.state = step(self.state)
        return output

    def below(self, n: int) -> int:
        """Returns an integer from 0 to n - 1. Raises ValueError for an n below 1."""
        if n < 1:
            raise ValueError(f"n is {n}, expected 1 or more")
        return (self.u64() * n) >> 64

    def integer(self, lo: int, hi: int) -> int:
        """Returns an integer from lo to hi, both included. Raises ValueError if there is none."""
        if hi < lo:
            raise ValueError(f"there is no integer from {lo} to {hi}")
        return lo + self.below(hi - lo + 1)

    def choice(self, items: Sequence[object]) -> object:
        """Returns one of the items. Raises ValueError if there are none."""
        if not items:
            raise ValueError("cannot choose from nothing")
        return items[self.below(len(items))]

    def unit64(self) -> float:
        """Returns a number in [0, 1) with 53 random bits."""
        return (self.u64() >> 11) * 2.0**-53

    def unit32(self) -> float:
        """Returns a number in [0, 1) with 24 random bits."""
        return (self.u64() >> 40) * 2.0**-24

    def negative(self) -> bool:
        """Returns True if the drawn sign is minus."""
        return self.u64() >> 63 != 0

    def bernoulli(self, probability: float) -> bool:
        """Returns True with this probability."""
        return self.unit64() < probability


# Arrays without axes, which NumPy's calls accept without conversion.
_B23, _B18, _B5 = (np.array(by, dtype=np.uint64) for by in (23, 18, 5))


def _lane_step(x: Array, y: Array, scratch: Array) -> None:
    np.left_shift(x, _B23, scratch)
    np.bitwise_xor(x, scratch, x)
    np.right_shift(x, _B18, scratch)
    np.bitwise_xor(x, scratch, x)
    np.right_shift(y, _B5, scratch)
    np.bitwise_xor(x, scratch, x)
    np.bitwise_xor(x, y, x)


GENERATOR = linear.Linear(step, _lane_step)


def jump(state: State, outputs: int) -> State:
    """Returns the state after this many outputs."""
    return GENERATOR.jump(state, outputs)


def outputs(state: State, count: int) -> Array:
    """Returns the next `count` outputs."""
    return GENERATOR.outputs(state, count)


class Work:
    """Scratch arrays, reused for each tile: allocating new ones would cost as much as the arithmetic."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Array] = {}

    def __call__(self, like: Array, dtype: str, name: str = "") -> Array:
        """Returns an array of the shape of `like`, the same one at each call with that name; its content is arbitrary."""
        found = self._made.get((dtype, name))
        if found is None or found.shape != like.shape:
            found = self._made[dtype, name] = np.empty(like.shape, dtype=dtype)
        return found


_LOW, _32 = np.array(0xFFFFFFFF, dtype=np.uint64), np.array(32, dtype=np.uint64)


def high_product(x: Array, n: int, work: Work) -> Array:
    """Computes the high 64 bits of x * n, for n from 1 to 2**64 - 1, in 32-bit halves; the result overwrites x."""
    if n & (n - 1) == 0:
        if n == 1:
            x.fill(0)
        else:
            np.right_shift(x, np.uint64(65 - n.bit_length()), x)
        return x
    high = np.right_shift(x, _32, work(x, "uint64", "high"))
    x &= _LOW
    n_low, n_high = np.uint64(n & 0xFFFFFFFF), np.uint64(n >> 32)
    if n_high == 0:
        x *= n_low
        x >>= _32
        high *= n_low
        x += high
        x >>= _32
        return x
    middle = (x * n_low >> _32) + (high * n_low & _LOW) + x * n_high
    x[...] = high * n_high + (high * n_low >> _32) + (middle >> _32)
    return x


def _bit_count(x: Array, work: Work) -> Array:
    counts = work(x, "float64", "count")
    if hasattr(np, "bitwise_count"):
        np.copyto(counts, np.bitwise_count(x, work(x, "uint8")))
        return counts
    two, four, eight = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
    x = x - ((x >> np.uint64(1)) & two)
    x = (x & four) + ((x >> np.uint64(2)) & four)
    x = (x + (x >> np.uint64(4))) & eight
    np.copyto(counts, ((x * np.uint64(0x0101010101010101)) >> np.uint64(56)).view(np.int64))
    return counts


def _numerators(x: Array, work: Work) -> Array:
    """Returns unit64 of outputs times 2**53, which is exact."""
    x >>= np.uint64(11)
    values = work(x, "float64", "unit")
    np.copyto(values, x.view(np.int64))
    return values


def less(x: Array, probability: float, work: Work) -> Array:
    """Returns for each output whether its unit64 is below a probability."""
    below = min(max(math.ceil(probability * 2.0**53), 0), 1 << 53) << 11
    if below > MASK:
        found = work(x, "bool")
        found.fill(True)
        return found
    return np.less(x, np.uint64(below), work(x, "bool"))


def wanted(distribution: str) -> tuple[bool, bool]:
    """Returns which of an element's two outputs its value depends on."""
    if distribution not in _WANTED:
        raise ValueError(f"distribution '{distribution}' is unknown, expected {', '.join(_WANTED)}")
    return _WANTED[distribution]


_WANTED = {"uniform": (True, False), "normal": (True, True), "log_uniform": (True, True), "integer": (True, False),
           "special": (True, True)}  # fmt: skip


def _uniform(lo: float, hi: float, a: Array, work: Work) -> Array:
    values = _numerators(a, work)
    if (hi - lo) * 2.0**-53 >= 2.0**-1022:
        values *= (hi - lo) * 2.0**-53  # The power of two can be factored out of the product unless that makes it subnormal.
    else:
        values *= 2.0**-53
        values *= hi - lo
    values += lo
    return values


def _normal(mean: float, sd: float, a: Array, b: Array, work: Work) -> Array:
    counts, values = _bit_count(a, work), _numerators(b, work)
    counts -= 32.0
    values *= 2.0**-53
    values += counts
    values -= 0.5
    values *= 0.25
    if sd != 1.0:
        values *= sd
    if mean != 0.0:
        values += mean
    return values


def _log_uniform(lo: int, hi: int, a: Array, b: Array, work: Work) -> Array:
    exponent = np.left_shift(b, np.uint64(1), work(b, "uint64", "exponent"))
    exponent = high_product(exponent, hi - lo + 1, work)
    b &= np.uint64(1 << 63)
    a >>= np.uint64(12)
    a |= b
    if -1022 <= lo and hi <= 1023:
        exponent += np.uint64(1023 + lo)
        exponent <<= np.uint64(52)
        a |= exponent
        return a.view(np.float64)
    a |= np.uint64(1023 << 52)
    made: Array = np.ldexp(a.view(np.float64), exponent.astype(np.int64) + lo)
    return made


def shape_draws(distribution: str, params: Sequence[float], a: Array, b: Array, work: Work) -> Array:
    """Returns the elements for pairs of outputs: float64, or int64 for "integer". They are in the memory of `a`, `b` or
    `work`."""
    first, second = params
    if distribution == "uniform":
        return _uniform(float(first), float(second), a, work)
    if distribution == "normal":
        return _normal(float(first), float(second), a, b, work)
    if distribution == "log_uniform":
        return _log_uniform(int(first), int(second), a, b, work)
    if distribution == "integer":
        lo, hi = int(first), int(second)
        offset = a if hi - lo == MASK else high_product(a, hi - lo + 1, work)
        offset += np.uint64(lo & MASK)
        return offset.view(np.int64)
    # special: a row of a table, or -1 to keep another value.
    picked = high_product(a, int(first), work).view(np.int64).astype(np.float64)
    return np.where(less(b, float(second), work), picked, -1.0)


def _insist(distribution: str, params: Sequence[float]) -> None:
    if len(params) != 2:
        raise ValueError(f"params of '{distribution}' are {tuple(params)}, expected two numbers")
    first, second = params
    if distribution in ("integer", "log_uniform") and first > second:
        raise ValueError(f"params of '{distribution}' are {tuple(params)}, expected the lower one first")
    if distribution == "special" and first < 1:
        raise ValueError(f"'special' picks from {first} rows, expected 1 or more")


def draw(
    state: State, distribution: str, params: Sequence[float], count: int
) -> Array:
    """Returns the elements in float64 (int64 for "integer"), before they are rounded to a dtype."""
    used, work = wanted(distribution), Work()
    _insist(distribution, params)
    if count < 128:
        pairs = outputs(state, 2 * count)
        return shape_draws(distribution, params, pairs[0::2].copy(), pairs[1::2].copy(), work)
    lanes, each_log2 = linear.plan(2 * count)
    tiles = GENERATOR.tiles(state, lanes, each_log2, used)
    made = (shape_draws(distribution, params, a, b, work) for a, b in tiles)
    dtype = np.int64 if distribution == "integer" else np.float64
    return linear.elementwise(count, dtype, made, lanes, 1 << each_log2 >> 1)


def generate(
    base_seed: int,
    iteration: int,
    label: str,
    distribution: str,
    params: Sequence[float],
    shape: Sequence[int],
    dtype: str,
) -> Array:
    """Returns a packed tensor of the stream (base_seed, iteration, label); gpuemu.layouts.place copies it to strided memory.

    distribution, params: "uniform" (lo, hi), "normal" (mean, sd), "log_uniform" (least, largest exponent), "integer" (lo, hi),
    "special" (rows of a table, probability: returns row numbers, -1 to keep another value). bfloat16 is returned as uint16 bits.
    Raises ValueError for another distribution."""
    sizes, name = arguments.shape(shape), arguments.dtype(dtype)
    state = derive_state(base_seed, iteration, label)
    wanted(distribution)
    _insist(distribution, params)
    if native.can_draw(distribution, params):
        made = np.empty(math.prod(sizes), dtype=np.uint16 if name == "bfloat16" else name)
        if native.draw(state, distribution, params, name, made):
            return made.reshape(sizes)
    return cast(draw(state, distribution, params, math.prod(sizes)), name).reshape(sizes)
