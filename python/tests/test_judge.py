"""Tests that comparisons in this process give the daemon's verdicts."""

import numpy as np
import pytest

import gpuemu
from gpuemu.check import judge

X = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)


def kinds(actual, expected, **options):
    result = judge.compare(actual, expected, **options)
    assert result.passed == (not result.failures)
    return [one.kind for one in result.failures]


def changed(value):
    wrong = X.copy()
    wrong[1, 0] = value
    return wrong


def test_each_kind_of_difference_is_found_and_named():
    assert kinds(X, X.astype(np.float64)) == []
    assert kinds(changed(4.01), X) == ["ToleranceExceeded"] and kinds(changed(np.nan), X) == ["NaNDetected"]
    assert kinds(changed(-np.inf), X) == ["InfDetected"] and kinds(changed(np.inf), changed(-np.inf)) == ["InfDetected"]
    assert kinds(changed(np.nan), changed(np.nan)) == [] and kinds(X, changed(np.nan)) == ["NaNDetected"]
    assert kinds(X[:1], X) == ["ShapeMismatch"] and kinds(X.astype(np.int32), X) == ["DTypeMismatch"]


def test_the_first_wrong_element_is_told():
    finding = judge.compare(changed(9), X, op_name="scale").failures[0]
    assert (finding.index, finding.expected, finding.actual) == (3, 4.0, 9.0)
    assert "element 3 [1, 0]: expected 4, got 9, |diff| 5 > bound" in finding.message and "1 of 6" in finding.message


def test_integers_must_be_equal_and_bounds_hold_for_floats():
    whole = np.array([1, 2, 3], np.int8)
    assert kinds(whole + np.int8(1), whole) == ["ToleranceExceeded"]
    large = np.array([2**53, -(2**63), 7], np.int64)
    result = judge.compare(large + np.int64(1), large)  # In float64 the first two would be equal.
    assert "expected 9007199254740992, got 9007199254740993, |diff| 1 > bound 0 (3 of 3" in result.failures[0].message
    assert result.max_diff == 1.0 and result.error_stats is None
    ends = np.array([0, 2**64 - 1], np.uint64)
    assert judge.compare(ends[::-1].copy(), ends).max_diff == 2.0**64 and kinds(ends, ends) == []
    assert kinds(large + np.int64(1), large, tolerance=gpuemu.ToleranceConfig(1.0, 0.0)) == []
    assert kinds(large + np.int64(2), large, tolerance=gpuemu.ToleranceConfig(1.0, 0.0)) == ["ToleranceExceeded"]
    assert kinds(np.array([True]), np.array([False])) == ["ToleranceExceeded"]
    loose = gpuemu.ToleranceConfig(0.0, 0.1)
    assert kinds(X * np.float32(1.09), X, tolerance=loose) == [] and kinds(X * np.float32(1.11), X, tolerance=loose)


def test_statistics_are_those_of_the_errors():
    stats = judge.compare(changed(4.5), X).error_stats
    assert stats["count"] == 6 and stats["num_exceeding"] == 1 and stats["max_abs"] == 0.5
    assert stats["max_rel"] == pytest.approx(0.125) and stats["p50_abs"] == 0.0 and stats["max_ulp"] == 2.0**20


def test_tensors_without_elements_and_without_axes_are_compared():
    assert kinds(np.zeros((0, 3), np.float32), np.zeros((0, 3))) == []
    assert kinds(np.float32(2), np.float64(3)) == ["ToleranceExceeded"]


def test_what_has_no_order_is_refused():
    with pytest.raises(TypeError, match="output is of complex64.*compare .real and .imag"):
        judge.compare(np.ones(2, np.complex64), np.full(2, 1 + 5j))
    for other in (np.array(["a"]), np.array([object()]), np.zeros(1, [("a", "f4")])):
        with pytest.raises(TypeError, match="floats, integers and bools"):
            judge.compare(other, other)
