"""Tolerances between an output and its reference: defaults by dtype, measured ones, and how they are written to gpuemu.toml."""

from __future__ import annotations

import inspect
import os
import pathlib
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuemu import arguments, installed, tensors
from gpuemu.client.words import counted
from gpuemu.tensors import Array


@dataclass
class ToleranceConfig:
    """An element passes when |output - reference| <= atol + rtol * |reference|."""

    atol: float
    rtol: float

    def __post_init__(self) -> None:
        for name in ("atol", "rtol"):
            given = getattr(self, name)
            if isinstance(given, str) or not hasattr(given, "__float__"):
                raise TypeError(f"{name} is {given!r}, expected a number")
            if not given >= 0:
                raise ValueError(f"{name} is {given}, it must be non-negative")

    @classmethod
    def for_dtype(cls, dtype: str, framework: str = "numpy") -> ToleranceConfig:
        """Returns the tolerance for the rounding of a dtype, scaled by the freedom that a framework takes."""
        return cls(*_TABLES["default"].get(dtype, (1e-5, 1e-5))).scale(FRAMEWORK_MULTIPLIERS.get(framework, 1.0))

    @classmethod
    def strict(cls, dtype: str = "float32") -> ToleranceConfig:
        """Returns the tolerance for the same algorithm on the same hardware."""
        return cls(*_TABLES["strict"].get(dtype, (1e-6, 1e-5)))

    @classmethod
    def relaxed(cls, dtype: str = "float32") -> ToleranceConfig:
        """Returns the tolerance for another framework or other hardware."""
        return cls(*_TABLES["relaxed"].get(dtype, (1e-4, 1e-3)))

    def scale(self, factor: float) -> ToleranceConfig:
        """Returns this tolerance with both parts multiplied by a factor."""
        return ToleranceConfig(self.atol * factor, self.rtol * factor)

    def to_dict(self) -> dict[str, float]:
        """Returns {"atol": ..., "rtol": ...}."""
        return {"atol": self.atol, "rtol": self.rtol}


# (atol, rtol) in the order of _PROFILES; the numbers that clients have used since 0.1.0.
_PROFILES = ("default", "strict", "relaxed", "production")
_PAIRS = {
    "float16": ((1e-3, 1e-2), (1e-4, 1e-3), (1e-2, 1e-1), (5e-4, 5e-3)),
    "bfloat16": ((1e-2, 1e-1), (1e-3, 1e-2), (5e-2, 5e-1), (5e-3, 5e-2)),
    "float32": ((1e-5, 1e-4), (1e-6, 1e-5), (1e-4, 1e-3), (1e-6, 1e-5)),
    "float64": ((1e-10, 1e-9), (1e-12, 1e-11), (1e-8, 1e-7), (1e-12, 1e-11)),
}
_TABLES = {
    profile: {dtype: pairs[at] for dtype, pairs in _PAIRS.items()} for at, profile in enumerate(_PROFILES)
}
DEFAULT_TOLERANCES = {dtype: ToleranceConfig(*pair) for dtype, pair in _TABLES["default"].items()}
FRAMEWORK_MULTIPLIERS = {"numpy": 1.0, "pytorch": 1.0, "jax": 1.5, "tensorflow": 1.5}
# Ops that sum, or that amplify errors of their input, have larger errors.
OPERATION_MULTIPLIERS = {"matmul": 1.5, "conv2d": 2.0, "softmax": 1.5, "batchnorm": 2.0, "layernorm": 2.0, "attention": 2.5}


class ToleranceProfile:
    """Tolerances by dtype under a name."""

    def __init__(self, name: str, tolerances: dict[str, ToleranceConfig]) -> None:
        self.name, self.tolerances = name, tolerances

    def get(self, dtype: str) -> ToleranceConfig:
        """Returns the tolerance of a dtype, or of an operation that has its own."""
        return self.tolerances.get(dtype, ToleranceConfig(1e-5, 1e-5))

    @classmethod
    def _of(cls, name: str, table: str, factor: float = 1.0) -> ToleranceProfile:
        return cls(name, {dtype: ToleranceConfig(*pair).scale(factor) for dtype, pair in _TABLES[table].items()})

    @classmethod
    def for_testing(cls) -> ToleranceProfile:
        """For tests of the same algorithm on the same hardware."""
        return cls._of("testing", "default")

    @classmethod
    def for_production(cls) -> ToleranceProfile:
        """The defaults."""
        return cls._of("production", "production")

    @classmethod
    def for_cross_framework(cls, source: str, target: str) -> ToleranceProfile:
        """For another framework or other hardware."""
        factor = max(FRAMEWORK_MULTIPLIERS.get(one, 1.0) for one in (source, target))
        return cls._of(f"{source}_to_{target}", "default", 1.5 * factor)


def compare_tolerances(a: ToleranceConfig, b: ToleranceConfig) -> dict[str, Any]:
    """Compares two tolerances: the ratios as text, and which is stricter in both parts."""
    ratios = {f"{name}_ratio": f"{getattr(a, name) / getattr(b, name):.2f}x" if getattr(b, name) > 0 else "inf"
              for name in ("atol", "rtol")}  # fmt: skip
    return {**ratios, "a_stricter": a.atol < b.atol and a.rtol < b.rtol, "b_stricter": b.atol < a.atol and b.rtol < a.rtol}


def get_recommended_tolerance(dtype: str, framework: str | None = None, operation: str | None = None) -> ToleranceConfig:
    """Returns a tolerance for a dtype, and optionally a framework and an operation. Also callable as
    get_recommended_tolerance(op, dtype)."""
    if dtype not in tensors.DTYPES and framework in tensors.DTYPES:
        dtype, framework, operation = framework, None, dtype
    made = ToleranceConfig.for_dtype(dtype, framework or "numpy")
    return made.scale(OPERATION_MULTIPLIERS.get((operation or "").lower(), 1.0))


@dataclass
class Evidence:
    """The measurements behind a calibrated tolerance. errors: the largest absolute error of each sample; required: the need of
    each sample as a multiple of the tolerance before the margin."""

    dtype: str
    shapes: list[tuple[int, ...]]
    samples: int
    seed: int
    percentile: float
    safety_margin: float
    errors: list[float] = field(default_factory=list)
    required: list[float] = field(default_factory=list)
    passed: int = 0

    def summary(self) -> str:
        """Describes the measurements on one line."""
        return (f"calibrated on {self.samples} samples (seed {self.seed}, percentile {self.percentile:g}, margin {self.safety_margin:g}): "
                f"largest error {max(self.errors, default=0.0):.3g}, {self.passed} pass")  # fmt: skip


@dataclass
class CalibratedTolerance(ToleranceConfig):
    """A measured tolerance with its evidence."""

    evidence: Evidence

    def write(self, op: str, path: str | os.PathLike[str] | None = None) -> pathlib.Path:
        """Writes the tolerance to gpuemu.toml for the op and dtype; see write_tolerance."""
        return write_tolerance(op, self.evidence.dtype, self, path, comment=self.evidence.summary())


def _of_op(client: Any, op: str, dtype: str = "float32", iterations: int = 0) -> ToleranceConfig:
    arguments.dtype(dtype)
    if arguments.whole(iterations, "iterations") < 0:
        raise ValueError(f"iterations is {iterations}, expected 0 or more")
    told = client.calibrate(op, dtypes=[dtype], cases=iterations)
    found = next((one for one in told.dtypes if one.dtype == dtype), None)
    why = told.incomplete or ("it has no such dtype" if found is None else found.skipped_reason)
    if found is None or why:
        raise ValueError(f"'{op}' has no tolerance for {dtype}: {why}")
    if found.cases == found.left_out:
        raise ValueError(f"'{op}' has no tolerance for {dtype}: none of {counted(found.cases, 'case')} passes")
    return ToleranceConfig(found.atol, found.rtol)


def measured_tolerance(reference_fn: Callable[..., Any], test_fn: Callable[..., Any], input_shapes: Sequence[Sequence[int]],
                       dtype: str = "float32", n_samples: int = 100, seed: int = 42, percentile: float = 99.0,
                       safety_margin: float = 2.0) -> CalibratedTolerance:  # fmt: skip
    """Measures the difference between a trusted implementation and the reference on normal inputs.

    rtol comes from the relative errors of the larger half of a sample's elements, atol from the absolute errors of the smaller
    half, so a zero of the reference makes neither of them large. The given percentile over the samples, times the margin, is the
    result. Both functions get arrays of `dtype`. Raises ValueError when an output is not finite or shapes differ.
    """
    for what, given in (("test_fn", test_fn), ("reference_fn", reference_fn)):
        if not callable(given):
            raise TypeError(f"{what} is {given!r}, expected a function")
    if arguments.whole(n_samples, "n_samples") < 1:
        raise ValueError(f"n_samples is {n_samples}, at least one is needed")
    if not 0 <= percentile <= 100:
        raise ValueError(f"percentile is {percentile}, expected 0 to 100")
    if not safety_margin >= 1:
        raise ValueError(f"safety_margin is {safety_margin}, expected 1 or more: a tolerance below the measured errors refuses them")
    shapes = [arguments.shape(shape, "a shape of input_shapes") for shape in input_shapes]
    if not shapes:
        raise ValueError("input_shapes is empty, expected a shape for each argument, as in [(64, 64)]")
    arguments.dtype(dtype)
    drawn = np.random.default_rng(seed)
    kind = tensors.numpy_dtype(dtype)
    measured: list[tuple[float, float]] = []
    pairs: list[tuple[Array, Array]] = []
    for _ in range(n_samples):
        inputs = [drawn.standard_normal(shape).astype(kind) for shape in shapes]
        expected, actual = (tensors.as_array(fn(*[one.copy() for one in inputs]), f"output of {what}").astype(np.float64)
                            for fn, what in ((reference_fn, "reference_fn"), (test_fn, "test_fn")))  # fmt: skip
        measured.append(_needs(expected, actual))
        pairs.append((np.abs(expected - actual), np.abs(expected)))
    if not any(size.size for _, size in pairs):
        raise ValueError("every output is empty: a tolerance can only be measured on elements; give input_shapes without 0")
    atol, rtol = (float(np.percentile([one[i] for one in measured], percentile)) for i in (0, 1))
    evidence = Evidence(dtype, shapes, n_samples, seed, percentile, safety_margin)
    for error, size in pairs:
        evidence.errors.append(float(error.max(initial=0.0)))
        with np.errstate(divide="ignore", invalid="ignore"):
            evidence.required.append(float(np.where(error == 0, 0.0, error / (atol + rtol * size)).max(initial=0.0)))
        evidence.passed += evidence.required[-1] <= safety_margin
    return CalibratedTolerance(atol * safety_margin, rtol * safety_margin, evidence)


def calibrate_tolerance(*given: Any, **options: Any) -> Any:
    """Measures the tolerance that a trusted implementation needs on normal inputs: a CalibratedTolerance, with its evidence.

    rtol comes from the relative errors of the larger half of a sample's elements, atol from the absolute errors of the smaller
    half. The given percentile over the samples, times the margin, is the result. Raises ValueError when an output is not finite
    or shapes differ.

    calibrate_tolerance(client, op, dtype="float32", iterations=0) instead returns the tolerance that an op of the project needs,
    measured by the daemon with that many cases (0: 256), as a ToleranceConfig.
    """
    if "client" in options or (given and hasattr(given[0], "calibrate")):
        return _of_op(*given, **options)
    return measured_tolerance(*given, **options)


# The signature that callers of the first release know.
calibrate_tolerance.__signature__ = inspect.signature(measured_tolerance)  # type: ignore[attr-defined]


def _needs(expected: Array, actual: Array) -> tuple[float, float]:
    """Returns (atol, rtol) for one sample."""
    if expected.shape != actual.shape:
        raise ValueError(f"the reference gives {list(expected.shape)}, the implementation {list(actual.shape)}")
    if not (np.isfinite(expected).all() and np.isfinite(actual).all()):
        raise ValueError("an output is not finite: a tolerance can only be measured on finite values")
    if not expected.size:
        return 0.0, 0.0
    error, size = np.abs(expected - actual), np.abs(expected)
    large = (size >= np.median(size)) & (size > 0)
    return float(error[~large].max(initial=0.0)), float((error[large] / size[large]).max(initial=0.0))


def write_tolerance(op: str, dtype: str, tolerance: ToleranceConfig, path: str | os.PathLike[str] | None = None, *,
                    comment: str | None = None) -> pathlib.Path:  # fmt: skip
    """Sets `[ops.tolerances] dtype = { atol, rtol }` of an op (or of the kernel of that name) in gpuemu.toml, by default the
    project's file. Everything else, including comments, is preserved. Needs the package tomlkit."""
    try:
        import tomlkit
    except ImportError as problem:
        raise ImportError("writing gpuemu.toml needs the package tomlkit: pip install tomlkit") from problem
    file = installed.project_file() if path is None else pathlib.Path(path)
    if file is None:
        raise FileNotFoundError("there is no gpuemu.toml in this folder or above: name one with path=")
    text = file.read_text()
    document = tomlkit.parse(text)
    tables = [one for key in ("ops", "kernels") for one in document.get(key, [])]
    found = next((one for one in tables if one.get("name") == op), None)
    if found is None:
        names = ", ".join(str(one.get("name")) for one in tables) or "none"
        raise LookupError(f"{file} has no op or kernel '{op}'; it has {names}")
    if dtype not in tensors.DTYPES:
        raise ValueError(f"'{dtype}' is no dtype; expected one of {', '.join(tensors.DTYPES)}")
    value = tomlkit.inline_table()
    value.update({"atol": float(tolerance.atol), "rtol": float(tolerance.rtol)})
    if "tolerances" not in found:
        found["tolerances"] = tomlkit.table()
    found["tolerances"][dtype] = value
    if comment:
        found["tolerances"][dtype].comment(comment)
    _replace(file, tomlkit.dumps(document))
    return file


def _replace(file: pathlib.Path, text: str) -> None:
    """Replaces the file atomically: a reader sees the old file or the new one."""
    target = file.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w") as out:
            out.write(text)
        os.chmod(name, target.stat().st_mode & 0o7777)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise
