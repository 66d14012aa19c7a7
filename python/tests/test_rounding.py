"""Tests that float64 is rounded once, to nearest even, in every branch of the arithmetic."""

import numpy as np
import pytest

from gpuemu.generate import rounding

FORMATS = {"float16": (10, 5), "bfloat16": (7, 8)}


def awkward(fraction, exponent):
    """Returns every number of the format, the midpoints between them and their neighbours, and numbers of all magnitudes."""
    patterns = np.arange(1 << 15, dtype=np.uint16)
    known = patterns.view(np.float16).astype(np.float64) if exponent == 5 else rounding.bfloat16_values(patterns)
    known = known[np.isfinite(known)]
    middles = known[:-1] + np.diff(known) / 2
    drawn = np.random.default_rng(7)
    sizes = np.ldexp(drawn.random(20000) + 1, drawn.integers(-1074, 1023, 20000))
    near = [np.nextafter(middles, np.inf), np.nextafter(middles, 0), middles.astype(np.float32).astype(np.float64)]
    near += [np.nextafter(middles.astype(np.float32), np.float32(3e38)).astype(np.float64)]
    some = np.concatenate([known, middles, *near, sizes, [np.inf, 65519.99, 65520.0, 3.4e38, 1e300, 5e-324, 0.0]])
    return np.concatenate([some, -some])


@pytest.mark.parametrize("dtype", FORMATS)
def test_the_short_way_is_the_exact_one(dtype):
    numbers = awkward(*FORMATS[dtype])
    exact = rounding._narrow(numbers, *FORMATS[dtype])
    assert np.array_equal(rounding._narrow_most(numbers, *FORMATS[dtype]), exact)
    # In parts, because rare difficult numbers among easy ones are done again one by one.
    for start in range(0, numbers.size, 4001):
        part = np.concatenate([np.full(20000, 1.2345), numbers[start : start + 4001]])
        assert np.array_equal(rounding._narrow_most(part, *FORMATS[dtype])[20000:], exact[start : start + 4001])
    nan = rounding._narrow_most(np.array([np.nan, -np.nan, 1.0]), *FORMATS[dtype])
    assert np.array_equal(nan, rounding._narrow(np.array([np.nan, -np.nan, 1.0]), *FORMATS[dtype]))


def test_float16_is_that_of_numpy():
    numbers = awkward(10, 5)
    with np.errstate(all="ignore"):
        assert np.array_equal(rounding.cast(numbers, "float16").view(np.uint16), numbers.astype(np.float16).view(np.uint16))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_integers_are_cut_off_at_the_ends_of_their_type(dtype):
    limits = np.iinfo(dtype)
    numbers = np.array([np.nan, -np.inf, np.inf, 0.5, 1.5, -0.5, 2.5, 100.0, 1e30, -1e30, float(limits.max), float(limits.min)])
    expected = [0, limits.min, limits.max, 0, 2, 0, 2, 100, limits.max, limits.min, limits.max, limits.min]
    assert rounding.cast(numbers, dtype).tolist() == expected
    assert rounding.cast(np.array([5, -(1 << 62)]), dtype).tolist() == [5, max(-(1 << 62), limits.min)]
    assert rounding.cast(np.array([0.0, -0.0, np.nan, 1e-300]), "bool").tolist() == [False, False, True, True]
