"""Tests inputs with distinct values, and inputs with ascending values."""

import numpy as np
import pytest

from gpuemu.generate import values

# judge/cases/value_rules_test.cc has the same numbers.
KNOWN = {
    ("uniform10", True, False): [15, 3, 11, 10, 13, 1, 14, 8, 2, 4, 16, 12, 17, 5, 0, 6],
    ("uniform10", True, True): [1, 3, 8, 10, 11, 13, 14, 15, 0, 2, 4, 5, 6, 12, 16, 17],
    ("int_extremes", True, False): [1, 0, 2, 3, 4, 5, 6, 7, 8, 17, 9, 10, 11, 12, 13, 14],
}


def made(strategy, dtype="int32", shape=(2, 8), last=17, **rules):
    tensor = {"name": "x", "dtype": dtype, "shape": list(shape), "range": [0, last], **rules}
    return values.fill_input({"base_seed": 42, "iteration": 3, "value_strategy": strategy, "inputs": [tensor]}, "x")


@pytest.mark.parametrize("strategy, distinct, is_sorted", KNOWN)
def test_values_are_those_of_the_daemon(strategy, distinct, is_sorted):
    assert made(strategy, distinct=distinct, sorted=is_sorted).reshape(-1).tolist() == KNOWN[strategy, distinct, is_sorted]


@pytest.mark.parametrize("strategy", values.STRATEGIES)
def test_no_distinct_value_comes_twice(strategy):
    assert sorted(made(strategy, shape=(3, 7), last=20, distinct=True).reshape(-1)) == list(range(21))


def test_no_elements_are_sorted_too():
    assert made("uniform10", shape=(3, 0), sorted=True).shape == (3, 0)


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", "float16", "bfloat16"])
def test_sorted_values_ascend_along_the_last_axis(dtype):
    found = made("uniform10", dtype, (3, 40), sorted=True)
    wide = (found.astype(np.uint32) << 16).view(np.float32) if dtype == "bfloat16" else found
    assert (np.diff(wide.astype(np.float64), axis=-1) >= 0).all()
    assert wide[1, 0] < wide[0, -1], "each row for itself"
