"""Comparing arrays in this process, in the terms of the daemon: findings, statistics, a verdict."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuemu import tensors
from gpuemu.records import Finding, ValidationResult
from gpuemu.tensors import Array
from gpuemu.tolerances import ToleranceConfig, get_recommended_tolerance

# dtype name -> smallest distance of its numbers at 1, smallest normal number.
FORMATS = {"float16": (2.0**-10, 2.0**-14), "bfloat16": (2.0**-7, 2.0**-126), "float32": (2.0**-23, 2.0**-126),
           "float64": (2.0**-52, 2.0**-1022)}  # fmt: skip


def dtype_name(array: Array) -> str:
    """The protocol's name of an array's dtype."""
    return str(array.dtype.newbyteorder("=")) if array.dtype.kind != "V" else str(array.dtype)


def is_float(array: Array) -> bool:
    """Whether rounding is to be expected: floats, bfloat16 too."""
    return array.dtype.kind == "f" or dtype_name(array) == "bfloat16"


def _comparable(array: Array, what: str) -> Array:
    """Floats as float64; integers and bools as they are, because float64 has not all of 64 bits."""
    if array.dtype.kind in "iub" or array.dtype == np.float64:
        return array
    if not is_float(array) and (array.dtype.kind != "V" or array.dtype.names):
        hint = "; compare .real and .imag" if array.dtype.kind == "c" else ""
        raise TypeError(f"the {what} is of {array.dtype}; floats, integers and bools can be compared{hint}")
    return array.astype(np.float64)


def _distance(actual: Array, expected: Array) -> Array:
    """|actual - expected| in float64, 0 only where they are equal."""
    if actual.dtype.kind == "f":
        distance: Array = np.abs(actual - expected)
        return distance
    # As unsigned numbers the difference of two of 64 bits does not overflow.
    larger, smaller = (one.astype(np.uint64) for one in (np.maximum(actual, expected), np.minimum(actual, expected)))
    return (larger - smaller).astype(np.float64)


def _said(value: float) -> str:
    return f"{value:.9g}" if isinstance(value, float) else str(int(value))


def _first(wrong: Array, shape: tuple[int, ...]) -> tuple[int, str]:
    flat = int(np.flatnonzero(wrong)[0])
    place = [int(one) for one in np.unravel_index(flat, shape)] if shape else []
    return flat, f"element {flat} {place}"


def _finding(kind: str, wrong: Array, actual: Array, expected: Array, why: str) -> Finding:
    index, place = _first(wrong, expected.shape)
    want, got = expected.reshape(-1)[index].item(), actual.reshape(-1)[index].item()
    text = f"{place}: expected {_said(want)}, got {_said(got)}{why} ({int(wrong.sum())} of {wrong.size} elements)"
    return Finding(kind, text, index, float(want), float(got))


def error_stats(actual: Array, expected: Array, wrong: Array, dtype: str) -> dict[str, Any]:
    """As the daemon's: an error that is not finite counts as infinite."""
    with np.errstate(all="ignore"):
        error = _distance(actual, expected)
        error = np.where(np.isnan(error), np.where(np.isnan(actual) & np.isnan(expected), 0.0, np.inf), error)
        error = np.where(actual == expected, 0.0, error).reshape(-1)
        size = np.abs(expected.astype(np.float64)).reshape(-1)
        relative = np.where(error == 0, 0.0, error / size)
    ulp, normal = FORMATS.get(dtype, (1.0, 1.0))
    ulps = np.zeros_like(error)
    if dtype in FORMATS:
        with np.errstate(all="ignore"):
            ulps = error / (np.exp2(np.floor(np.log2(np.maximum(np.where(np.isfinite(size), size, 1.0), normal)))) * ulp)
    ordered = np.sort(error)
    at = {p: float(ordered[round(p / 100 * (len(ordered) - 1))]) for p in (50, 90, 99)}
    return {
        "count": int(error.size), "num_exceeding": int(wrong.sum()), "max_abs": float(ordered[-1]), "mean_abs": float(error.mean()),
        "p50_abs": at[50], "p90_abs": at[90], "p99_abs": at[99], "max_rel": float(relative.max()),
        "mean_rel": float(relative.mean()), "max_ulp": float(ulps.max()), "mean_ulp": float(ulps.mean()),
    }  # fmt: skip


def _value_findings(actual: Array, expected: Array, tolerance: ToleranceConfig, exact: bool) -> tuple[list[Finding], Array]:
    with np.errstate(all="ignore"):
        error = _distance(actual, expected)
        bound = tolerance.atol + tolerance.rtol * np.abs(expected.astype(np.float64))
    finite = np.isfinite(actual) & np.isfinite(expected)
    far = finite & ~(error <= (0.0 if exact else bound))
    nan = np.isnan(actual) != np.isnan(expected)
    inf = (np.isinf(actual) | np.isinf(expected)) & (actual != expected) & ~nan
    findings = []
    if far.any():
        index, _ = _first(far, expected.shape)
        limit = 0.0 if exact else float(np.broadcast_to(bound, expected.shape).reshape(-1)[index])
        why = f", |diff| {_said(float(error.reshape(-1)[index]))} > bound {_said(limit)}"
        findings.append(_finding("ToleranceExceeded", far, actual, expected, why))
    if nan.any():
        findings.append(_finding("NaNDetected", nan, actual, expected, ""))
    if inf.any():
        findings.append(_finding("InfDetected", inf, actual, expected, ""))
    wrong: Array = far | nan | inf
    return findings, wrong


def array_of(given: Any, what: str) -> Array:
    """An array that can be compared, or a TypeError that says what was given instead."""
    if given is None or isinstance(given, (str, bytes, dict)):
        raise TypeError(f"the {what} is {given!r:.80}, expected an array")
    try:
        made = tensors.as_array(given, what)
    except ValueError:  # NumPy on parts that do not fit together.
        raise TypeError(f"the {what} is a {type(given).__name__} whose parts differ in shape, expected one array") from None
    if made.dtype == object and not made.shape and not hasattr(given, "dtype"):
        raise TypeError(f"the {what} is a {type(given).__name__}, expected an array")
    return made


def compare(actual: Any, expected: Any, tolerance: ToleranceConfig | None = None, *, op_name: str = "op", seed: int = 0,
            stats: bool = True) -> ValidationResult:  # fmt: skip
    """The verdict on `actual`. `expected` may be of a wider dtype: its values count. Without a tolerance the one that is
    recommended for the dtype and the op."""
    if tolerance is not None and not isinstance(tolerance, ToleranceConfig):
        raise TypeError(f"tolerance is {tolerance!r}, expected gpuemu.ToleranceConfig(atol, rtol)")
    got, want = array_of(actual, "output"), array_of(expected, "reference")
    result = ValidationResult(True, seed, op_name, timestamp=int(time.time()))
    name = dtype_name(got)
    if got.shape != want.shape:
        message = f"shape mismatch: output is {list(got.shape)}, reference is {list(want.shape)}"
        result.failures.append(Finding("ShapeMismatch", message))
    elif is_float(got) != is_float(want) or (not is_float(got) and got.dtype.kind != want.dtype.kind):
        result.failures.append(Finding("DTypeMismatch", f"dtype mismatch: output is {name}, reference is {dtype_name(want)}"))
    elif want.size:
        exact = not is_float(got)
        a, e = _comparable(got, "output"), _comparable(want, "reference")
        if exact and np.array_equal(a, e):
            return result
        limit = tolerance or get_recommended_tolerance(name, operation=op_name)
        result.failures, wrong = _value_findings(a, e, limit, exact and tolerance is None)
        if stats or result.failures:
            result.error_stats = error_stats(a, e, wrong, name)
            result.max_diff, result.max_rel_diff = result.error_stats["max_abs"], result.error_stats["max_rel"]
    result.passed = not result.failures
    result.compared = None if result.passed else (got, want)
    return result


def float64_inputs(reference: Callable[..., Any], inputs: Mapping[str, Any]) -> Any:
    """What `reference` gives for the inputs as float64 arrays (integers as they are): copies, which it may change."""
    arrays = {name: array_of(one, f"input '{name}'") for name, one in inputs.items()}
    return reference(**{name: one.astype(np.float64) if is_float(one) else one.copy() for name, one in arrays.items()})
