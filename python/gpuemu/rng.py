"""The project's random numbers, bit for bit those of the daemon (docs: the random streams).

A stream is named by (base seed, iteration, label). Element i of a tensor uses outputs 2i and 2i+1.
"""

from __future__ import annotations

import functools
import hashlib
import struct
from collections.abc import Sequence

import numpy as np

from gpuemu.tensors import Array

MASK = (1 << 64) - 1
State = tuple[int, int]
Powers = list[list[State]]


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


@functools.lru_cache(maxsize=1)
def _powers() -> Powers:
    """Entry k: what each of the 128 state bits becomes after 2**k steps."""
    powers = [[step(((1 << bit) & MASK, (1 << bit) >> 64))[1] for bit in range(128)]]
    for _ in range(1, 64):
        s0 = np.array([column[0] for column in powers[-1]], dtype=np.uint64)
        s1 = np.array([column[1] for column in powers[-1]], dtype=np.uint64)
        s0, s1 = _advance(powers[-1], s0, s1)
        powers.append([(int(x), int(y)) for x, y in zip(s0, s1)])
    return powers


def _advance(
    columns: list[State], s0: Array, s1: Array
) -> tuple[Array, Array]:
    """Many states, each moved by one linear map."""
    to0, to1 = np.zeros_like(s0), np.zeros_like(s1)
    one = np.uint64(1)
    for bit, (x, y) in enumerate(columns):
        word = s0 if bit < 64 else s1
        used = (word >> np.uint64(bit % 64)) & one
        to0 ^= used * np.uint64(x)
        to1 ^= used * np.uint64(y)
    return to0, to1


def jump(state: State, outputs: int) -> State:
    """The state after so many more outputs."""
    s0, s1 = np.array([state[0]], dtype=np.uint64), np.array([state[1]], dtype=np.uint64)
    for k in range(outputs.bit_length()):
        if outputs >> k & 1:
            s0, s1 = _advance(_powers()[k], s0, s1)
    return int(s0[0]), int(s1[0])


def outputs(state: State, count: int) -> Array:
    """The next `count` outputs: lanes of 2**k outputs each step together as arrays."""
    if count < 256:
        result = np.empty(count, dtype=np.uint64)
        for i in range(count):
            result[i], state = step(state)
        return result
    block_log2 = max(4, (count.bit_length() - 1) // 2)
    block = 1 << block_log2
    lanes = -(-count // block)
    s0, s1 = np.array([state[0]], dtype=np.uint64), np.array([state[1]], dtype=np.uint64)
    doubling = block_log2
    while s0.size < lanes:
        t0, t1 = _advance(_powers()[doubling], s0, s1)
        s0, s1 = np.concatenate([s0, t0])[:lanes], np.concatenate([s1, t1])[:lanes]
        doubling += 1
    result = np.empty((lanes, block), dtype=np.uint64)
    a, b, c = np.uint64(23), np.uint64(18), np.uint64(5)
    for i in range(block):
        result[:, i] = s0 + s1
        x = s0 ^ (s0 << a)
        s0, s1 = s1, x ^ s1 ^ (x >> b) ^ (s1 >> c)
    return result.reshape(-1)[:count]


def _high_product(x: Array, n: int) -> Array:
    """High 64 bits of x * n, for n up to 2**64 - 1, in 32-bit halves."""
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    n_low, n_high = np.uint64(n & 0xFFFFFFFF), np.uint64(n >> 32)
    x_low, x_high = x & low, x >> half
    low_low, high_low, low_high = x_low * n_low, x_high * n_low, x_low * n_high
    middle = (low_low >> half) + (high_low & low) + low_high
    high: Array = x_high * n_high + (high_low >> half) + (middle >> half)
    return high


def _bit_count(x: Array) -> Array:
    table = np.array([bin(i).count("1") for i in range(256)], dtype=np.int64)
    counts: Array = table[np.ascontiguousarray(x).view(np.uint8).reshape(-1, 8)].sum(axis=1)
    return counts


def _unit(x: Array) -> Array:
    return (x >> np.uint64(11)).astype(np.float64) * 2.0**-53


def draw(
    state: State, distribution: str, params: Sequence[float], count: int
) -> Array:
    """The elements in float64 (int64 for "integer"), before they are rounded to a dtype."""
    pairs = outputs(state, 2 * count)
    a, b = pairs[0::2], pairs[1::2]
    if distribution == "uniform":
        lo, hi = float(params[0]), float(params[1])
        return lo + _unit(a) * (hi - lo)
    if distribution == "normal":
        mean, sd = float(params[0]), float(params[1])
        return mean + sd * (((_bit_count(a) - 32.0) + _unit(b) - 0.5) / 4.0)
    if distribution == "log_uniform":
        lo, hi = int(params[0]), int(params[1])
        exponent = lo + _high_product(b << np.uint64(1), hi - lo + 1).astype(np.int64)
        bits = (b & np.uint64(1 << 63)) | np.uint64(1023 << 52) | (a >> np.uint64(12))
        return np.ldexp(bits.view(np.float64), exponent)
    if distribution == "integer":
        lo, hi = int(params[0]), int(params[1])
        offset = a if hi - lo == MASK else _high_product(a, hi - lo + 1)
        return (np.uint64(lo & MASK) + offset).view(np.int64)
    if distribution == "special":  # A row of a table, -1 where another value is to be kept.
        rows, probability = int(params[0]), float(params[1])
        picked = _high_product(a, rows).astype(np.float64)
        return np.where(_unit(b) < probability, picked, -1.0)
    raise ValueError(
        f"distribution '{distribution}' is unknown, expected uniform, normal, log_uniform, integer "
        "or special"
    )


def bfloat16_bits(values: Array) -> Array:
    """float64 rounded once, to nearest even, to bfloat16 patterns (uint16)."""
    values = np.asarray(values, dtype=np.float64)
    bits = values.view(np.uint64)
    sign = ((bits >> np.uint64(63)) << np.uint64(15)).astype(np.uint16)
    magnitude = np.abs(values)
    with np.errstate(over="ignore", invalid="ignore"):
        small = (magnitude / 2.0**-133).round()  # Exact scaling; round() is to even.
        whole = magnitude.view(np.uint64)
        odd = (whole >> np.uint64(45)) & np.uint64(1)
        rounded = (whole + np.uint64((1 << 44) - 1) + odd) >> np.uint64(45)
        normal = rounded - np.uint64((1023 - 127) << 7)
    result = np.where(magnitude < 2.0**-126, np.where(small < 200, small, 0), 0).astype(np.uint64)
    result = np.where(magnitude >= 2.0**-126, normal, result)
    result = np.where(magnitude >= 2.0**128, np.uint64(0x7F80), result)
    result = np.where(np.isnan(values), np.uint64(0x7FC0), result)
    return sign | result.astype(np.uint16)


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
    if target.kind == "f":
        with np.errstate(over="ignore"):
            return values.astype(target)
    limits = np.iinfo(target)
    if values.dtype.kind in "iu":
        return np.clip(values, max(limits.min, -(1 << 63)), min(limits.max, MASK >> 1)).astype(target)
    whole = np.where(np.isnan(values), 0.0, np.rint(values))
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
