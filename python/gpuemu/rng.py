"""The project's random numbers, bit for bit those of the daemon (docs: the random streams).

A stream is named by (base seed, iteration, label). Element i of a tensor uses outputs 2i and 2i+1.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

import numpy as np

from gpuemu import linear
from gpuemu.legacy import SeededRng, derive_seed, generate_seed
from gpuemu.linear import MASK, State
from gpuemu.tensors import Array

__all__ = ["MASK", "SeededRng", "State", "Stream", "bfloat16_bits", "bfloat16_values", "case_seed", "cast", "derive_seed",
           "derive_state", "draw", "generate", "generate_seed", "jump", "outputs", "step"]  # fmt: skip


def derive_state(base_seed: int, iteration: int, label: str) -> State:
    """The state in which the named stream starts."""
    text = struct.pack("<QQ", base_seed, iteration) + label.encode()
    s0, s1 = struct.unpack("<QQ", hashlib.blake2b(text, digest_size=16).digest())
    return (s0, s1) if s0 or s1 else (0, 1)


def case_seed(base_seed: int, iteration: int, op: str) -> int:
    """The 64-bit name of a case."""
    text = struct.pack("<QQ", base_seed, iteration) + op.encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def step(state: State) -> tuple[int, State]:
    """The output of a state and the state after it."""
    x, y = state
    output = (x + y) & MASK
    x ^= (x << 23) & MASK
    return output, (y, x ^ y ^ (x >> 18) ^ (y >> 5))


class Stream:
    """One stream of draws; each takes one output."""

    def __init__(self, base_seed: int, iteration: int, label: str) -> None:
        self.state = derive_state(base_seed, iteration, label)

    def u64(self) -> int:
        output, self.state = step(self.state)
        return output

    def below(self, n: int) -> int:
        return (self.u64() * n) >> 64

    def integer(self, lo: int, hi: int) -> int:
        return lo + self.below(hi - lo + 1)

    def choice(self, items: Sequence[object]) -> object:
        return items[self.below(len(items))]

    def unit64(self) -> float:
        return (self.u64() >> 11) * 2.0**-53

    def unit32(self) -> float:
        return (self.u64() >> 40) * 2.0**-24

    def negative(self) -> bool:
        return self.u64() >> 63 != 0

    def bernoulli(self, probability: float) -> bool:
        return self.unit64() < probability


def _lane_step(x: Array, y: Array, scratch: Array) -> None:
    np.left_shift(x, _B23, out=scratch)
    np.bitwise_xor(x, scratch, out=x)
    np.right_shift(x, _B18, out=scratch)
    np.bitwise_xor(x, scratch, out=x)
    np.right_shift(y, _B5, out=scratch)
    np.bitwise_xor(x, scratch, out=x)
    np.bitwise_xor(x, y, out=x)


_B23, _B18, _B5 = np.uint64(23), np.uint64(18), np.uint64(5)
GENERATOR = linear.Linear(step, _lane_step)


def jump(state: State, outputs: int) -> State:
    """The state after so many more outputs."""
    return GENERATOR.jump(state, outputs)


def outputs(state: State, count: int) -> Array:
    """The next `count` outputs."""
    return GENERATOR.outputs(state, count)


def _high_product(x: Array, n: int) -> Array:
    """High 64 bits of x * n, for n up to 2**64 - 1, in 32-bit halves."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    n_low, n_high = np.uint64(n & 0xFFFFFFFF), np.uint64(n >> 32)
    x_low, x_high = x & low, x >> half
    if n_high == 0:
        small: Array = (x_high * n_low + (x_low * n_low >> half)) >> half
        return small
    low_low, high_low, low_high = x_low * n_low, x_high * n_low, x_low * n_high
    middle = (low_low >> half) + (high_low & low) + low_high
    high: Array = x_high * n_high + (high_low >> half) + (middle >> half)
    return high


def _bit_count(x: Array) -> Array:
    if hasattr(np, "bitwise_count"):
        count: Array = np.bitwise_count(x).astype(np.float64)
        return count
    two, four, eight = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333), np.uint64(0x0F0F0F0F0F0F0F0F)
    x = x - ((x >> np.uint64(1)) & two)
    x = (x & four) + ((x >> np.uint64(2)) & four)
    x = (x + (x >> np.uint64(4))) & eight
    counts: Array = ((x * np.uint64(0x0101010101010101)) >> np.uint64(56)).view(np.int64).astype(np.float64)
    return counts


def _unit(x: Array) -> Array:
    unit: Array = (x >> np.uint64(11)).view(np.int64).astype(np.float64)
    unit *= 2.0**-53
    return unit


def wanted(distribution: str) -> tuple[bool, bool]:
    """Which outputs of an element's two its value depends on."""
    if distribution not in _WANTED:
        raise ValueError(f"distribution '{distribution}' is unknown, expected {', '.join(_WANTED)}")
    return _WANTED[distribution]


_WANTED = {"uniform": (True, False), "normal": (True, True), "log_uniform": (True, True), "integer": (True, False),
           "special": (True, True)}  # fmt: skip


def shape_draws(distribution: str, params: Sequence[float], a: Array, b: Array) -> Array:
    """The elements that two outputs each give: float64, of "integer" int64."""
    if distribution == "uniform":
        lo, hi = float(params[0]), float(params[1])
        values = _unit(a)
        values *= hi - lo
        values += lo
        return values
    if distribution == "normal":
        mean, sd = float(params[0]), float(params[1])
        values = _bit_count(a)
        values -= 32.0
        values += _unit(b)
        values -= 0.5
        values /= 4.0
        values *= sd
        values += mean
        return values
    if distribution == "log_uniform":
        lo, hi = int(params[0]), int(params[1])
        exponent = _high_product(b << np.uint64(1), hi - lo + 1)
        bits = (b & np.uint64(1 << 63)) | (a >> np.uint64(12))
        if -1022 <= lo and hi <= 1023:
            bits |= (exponent + np.uint64(1023 + lo)) << np.uint64(52)
            return bits.view(np.float64)
        bits |= np.uint64(1023 << 52)
        return np.ldexp(bits.view(np.float64), exponent.astype(np.int64) + lo)
    if distribution == "integer":
        lo, hi = int(params[0]), int(params[1])
        offset = a if hi - lo == MASK else _high_product(a, hi - lo + 1)
        return (np.uint64(lo & MASK) + offset).view(np.int64)
    # special: a row of a table, -1 where another value is to be kept.
    rows, probability = int(params[0]), float(params[1])
    picked = _high_product(a, rows).view(np.int64).astype(np.float64)
    return np.where(_unit(b) < probability, picked, -1.0)


def draw(
    state: State, distribution: str, params: Sequence[float], count: int
) -> Array:
    """The elements in float64 (int64 for "integer"), before they are rounded to a dtype."""
    used = wanted(distribution)
    if count < 128:
        pairs = outputs(state, 2 * count)
        return shape_draws(distribution, params, pairs[0::2].copy(), pairs[1::2].copy())
    lanes, each_log2 = linear.plan(2 * count)
    tiles = GENERATOR.tiles(state, lanes, each_log2, used)
    made = (shape_draws(distribution, params, a, b) for a, b in tiles)
    dtype = np.int64 if distribution == "integer" else np.float64
    return linear.elementwise(count, dtype, made, lanes, 1 << each_log2 >> 1)


def _narrow(values: Array, fraction: int, exponent: int) -> Array:
    """float64 rounded once, to nearest even, to the patterns (uint16) of a format with so many bits of fraction and of
    exponent."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    bias = (1 << (exponent - 1)) - 1
    infinity = ((1 << exponent) - 1) << fraction
    shift = np.uint64(52 - fraction)
    bits = values.view(np.uint64)
    whole = bits & np.uint64(MASK >> 1)
    result = (whole >> shift) & np.uint64(1)
    result += whole
    result += np.uint64((1 << (51 - fraction)) - 1)
    result >>= shift
    result -= np.uint64((1023 - bias) << fraction)
    least = np.uint64((1024 - bias) << 52)  # The pattern of the smallest normal number.
    small = whole < least
    if small.any():
        # Adding a power of two rounds to the distance of subnormal numbers: what is left in the low bits is their count.
        magic = 2.0 ** (52 + 1 - bias - fraction)
        count = (np.abs(values) + magic).view(np.uint64) - np.uint64((1023 + 53 - bias - fraction) << 52)
        result = np.where(small, count, result)
    largest = whole.max(initial=0)
    if largest >= np.uint64((1023 + bias) << 52):
        over = (whole >= np.uint64((1024 + bias) << 52)) | ((result >= np.uint64(infinity)) & ~small)
        result = np.where(over, np.uint64(infinity), result)
        result = np.where(whole > np.uint64(2047 << 52), np.uint64(infinity | 1 << (fraction - 1)), result)
    bits = bits >> np.uint64(48)
    bits &= np.uint64(0x8000)
    result |= bits
    return result.astype(np.uint16)


def bfloat16_bits(values: Array) -> Array:
    """float64 rounded once, to nearest even, to bfloat16 patterns (uint16)."""
    return _narrow(values, 7, 8)


def bfloat16_values(patterns: Array) -> Array:
    """bfloat16 patterns as float64."""
    wide = np.asarray(patterns, dtype=np.uint16).astype(np.uint32) << np.uint32(16)
    return wide.view(np.float32).astype(np.float64)


def cast(values: Array, dtype: str) -> Array:
    """Rounded as the daemon does; bfloat16 gives uint16 patterns."""
    if dtype == "bfloat16":
        return bfloat16_bits(values)
    if dtype == "bool":
        return np.not_equal(values, 0)
    target = np.dtype(dtype)
    if dtype == "float16":
        return _narrow(values, 10, 5).view(np.float16)
    if target.kind == "f":
        with np.errstate(over="ignore"):
            return values.astype(target)
    limits = np.iinfo(target)
    if values.dtype.kind in "iu":
        return np.clip(values, max(limits.min, -(1 << 63)), min(limits.max, MASK >> 1)).astype(target)
    whole = np.rint(values)
    least, most = whole.min(initial=0.0), whole.max(initial=0.0)
    if least > float(limits.min) and most < float(limits.max):  # False where there is a NaN.
        return (whole if target == np.uint64 else whole.astype(np.int64)).astype(target)
    whole = np.where(np.isnan(whole), 0.0, whole)
    inside = (whole > float(limits.min)) & (whole < float(limits.max))
    result = np.where(inside, whole, 0.0).astype(target)
    result[whole >= float(limits.max)] = limits.max
    result[whole <= float(limits.min)] = limits.min
    return result


def generate(
    base_seed: int,
    iteration: int,
    label: str,
    distribution: str,
    params: Sequence[float],
    shape: Sequence[int],
    dtype: str,
) -> Array:
    """A tensor of the stream (base_seed, iteration, label)."""
    count = int(np.prod(shape, dtype=np.int64))
    state = derive_state(base_seed, iteration, label)
    return cast(draw(state, distribution, params, count), dtype).reshape(tuple(shape))
