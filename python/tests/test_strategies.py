"""Tests that Hypothesis draws tensors with gpuemu's strategies and makes failing ones small."""

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")
from hypothesis import given, settings  # noqa: E402

import gpuemu  # noqa: E402


@settings(max_examples=60, deadline=None)
@given(x=gpuemu.strategies.tensors(shape=(3, "n"), dtype=gpuemu.strategies.dtypes("fiu"), max_size=9))
def test_shapes_and_dtypes_are_those_asked_for(x):
    assert x.shape[0] == 3 and 1 <= x.shape[1] <= 9 and x.dtype.kind in "fiuV"


@settings(max_examples=60, deadline=None)
@given(x=gpuemu.strategies.tensors(range=(0.5, 2.0)))
def test_values_keep_to_the_range(x):
    assert x.min() >= 0.5 and x.max() <= 2.0


def test_a_failure_shrinks_to_the_smallest_tensor():
    found = hypothesis.find(gpuemu.strategies.tensors(shape=("m", "n")), lambda x: x.shape[1] > 4 and np.any(x > 2),
                            settings=settings(database=None, max_examples=400, deadline=None))
    assert found.shape == (1, 5) and np.count_nonzero(found) <= 5 and np.abs(found).max() <= 10
