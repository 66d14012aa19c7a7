"""Rounds float64 values once to a dtype, to nearest even, like the daemon."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuemu.tensors import Array

HALF = np.uint64((1 << 63) - 1)  # All bits except the sign.


def _narrow(values: Array, fraction: int, exponent: int) -> Array:
    """Returns the bits (uint16) in a format with this many fraction and exponent bits."""
    values = np.ascontiguousarray(values, dtype=np.float64)
    bias = (1 << (exponent - 1)) - 1
    infinity = ((1 << exponent) - 1) << fraction
    shift = np.uint64(52 - fraction)
    bits = values.view(np.uint64)
    whole = bits & HALF
    result = (whole >> shift) & np.uint64(1)
    result += whole
    result += np.uint64((1 << (51 - fraction)) - 1)
    result >>= shift
    result -= np.uint64((1023 - bias) << fraction)
    small = whole < np.uint64((1024 - bias) << 52)  # Below the smallest normal number.
    # Adding a power of two rounds to the spacing of subnormal numbers; the low bits then count them.
    magic = 2.0 ** (52 + 1 - bias - fraction)
    count = (np.abs(values) + magic).view(np.uint64) - np.uint64((1023 + 53 - bias - fraction) << 52)
    result = np.where(small, count, result)
    over = (whole >= np.uint64((1024 + bias) << 52)) | ((result >= np.uint64(infinity)) & ~small)
    result = np.where(over, np.uint64(infinity), result)
    result = np.where(whole > np.uint64(2047 << 52), np.uint64(infinity | 1 << (fraction - 1)), result)
    return (result | (bits >> np.uint64(48) & np.uint64(0x8000))).astype(np.uint16)


def _narrow_most(values: Array, fraction: int, exponent: int) -> Array:
    """Like _narrow, through float32, where arithmetic is half as wide. Values that this rounds wrong are done again: numbers that
    float32 puts midway between two of the format, and for float16 those that are not normal in it."""
    with np.errstate(over="ignore", under="ignore"):
        bits = np.asarray(values, dtype=np.float64).astype(np.float32, order="C").view(np.uint32)
    drop = np.uint32(23 - fraction)
    signs = bits >> np.uint32(16)
    signs &= np.uint32(0x8000)
    bits &= np.uint32(0x7FFFFFFF)
    odd = (bits & np.uint32((1 << (23 - fraction)) - 1)) == np.uint32(1 << (22 - fraction))
    if exponent < 8:
        bias = (1 << (exponent - 1)) - 1
        least, most = (128 - bias) << 23, ((127 + bias) << 23) + (((1 << (fraction + 1)) - 1) << (22 - fraction))
        odd |= (bits - np.uint32(least)) >= np.uint32(most - least)  # Smaller values wrap around to large numbers.
    result = bits >> drop
    result &= np.uint32(1)
    result += bits
    result += np.uint32((1 << (22 - fraction)) - 1)
    result >>= drop
    if exponent < 8:
        result -= np.uint32((128 - (1 << (exponent - 1))) << fraction)
    result |= signs
    made: Array = result.astype(np.uint16)
    again = np.flatnonzero(odd)
    if again.size > made.size // 4:
        return _narrow(values, fraction, exponent)
    if again.size:
        made.reshape(-1)[again] = _narrow(np.asarray(values).reshape(-1)[again], fraction, exponent)
    return made


def bfloat16_bits(values: Array) -> Array:
    """Rounds float64 once, to nearest even, to bfloat16 bits (uint16)."""
    return _narrow_most(values, 7, 8)


def bfloat16_values(patterns: Array) -> Array:
    """Converts bfloat16 bits to float64."""
    wide = np.asarray(patterns, dtype=np.uint16).astype(np.uint32) << np.uint32(16)
    with np.errstate(invalid="ignore"):  # A signalling NaN becomes quiet.
        return wide.view(np.float32).astype(np.float64)


def _whole_numbers(values: Array, target: np.dtype[Any]) -> Array:
    """Converts floats to integers: rounds, and clamps to the range of the type; NaN becomes 0."""
    limits = np.iinfo(target)
    whole = np.rint(values)
    least, most = whole.min(initial=0.0), whole.max(initial=0.0)
    if least >= float(limits.min) and most < float(limits.max):  # False if there is a NaN.
        return whole.astype(target)
    whole = np.where(np.isnan(whole), 0.0, whole)
    inside = (whole > float(limits.min)) & (whole < float(limits.max))
    result: Array = np.where(inside, whole, 0.0).astype(target)
    result[whole >= float(limits.max)] = limits.max
    result[whole <= float(limits.min)] = limits.min
    return result


def cast(values: Array, dtype: str) -> Array:
    """Converts `values` (float64 or integers) to a new array of `dtype` with the same shape: floats overflow to infinity and keep
    gradual underflow, integers are clamped to the range of the type. bfloat16 is returned as uint16 bits; bool is True for
    nonzero values. Raises TypeError for a dtype that NumPy does not have."""
    if dtype == "bfloat16":
        return bfloat16_bits(values)
    if dtype == "bool":
        return np.not_equal(values, 0)
    target = np.dtype(dtype)
    if dtype == "float16":
        return _narrow_most(values, 10, 5).view(np.float16)
    if target.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            return values.astype(target)
    if values.dtype.kind in "iu":
        limits = np.iinfo(target)
        return np.clip(values, max(limits.min, -(1 << 63)), min(limits.max, (1 << 63) - 1)).astype(target)
    return _whole_numbers(values, target)
