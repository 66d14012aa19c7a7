"""The values of a stream of xorshift128+, one element after the other."""
import math

import numpy as np

MASK = 2**64 - 1


def outputs(state, count):
    s0, s1 = (int(half) for half in state)
    for _ in range(count):
        x, y = s0, s1
        yield (x + y) & MASK
        x ^= (x << 23) & MASK
        s0, s1 = y, x ^ y ^ (x >> 18) ^ (y >> 5)


def unit(output):
    return (output >> 11) * 2.0**-53


def value(first, second, kind, a, b, lo, hi):
    if kind == 0:
        return a + unit(first) * (b - a)
    if kind == 1:
        return a + b * ((first.bit_count() - 32 + unit(second) - 0.5) / 4.0)
    if kind == 3:
        return lo + (first * (hi - lo + 1) >> 64)
    exponent = lo + (((second << 1) & MASK) * (hi - lo + 1) >> 64)
    return math.ldexp((1.0 + (first >> 12) * 2.0**-52) * (-1.0 if second >> 63 else 1.0), exponent)


def reference(state, n, kind, a, b, lo, hi):
    drawn = outputs(state, 2 * n)
    values = [value(first, next(drawn), kind, a, b, lo, hi) for first in drawn]
    return np.array(values, np.int64 if kind == 3 else np.float64)


def error_scale(n):
    return np.zeros(n)
