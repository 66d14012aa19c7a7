"""Judges the outputs of one op by its reference, with the judge of `gpuemu test`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuemu import tensors
from gpuemu.check import declaration, judge
from gpuemu.check.declaration import Judging
from gpuemu.check.judge import Judged
from gpuemu.check.tolerances import ToleranceConfig
import gpuemu.program.ops.primitives as primitives
from gpuemu.program.errors import BackendError
from gpuemu.program.ops.primitive import Primitive
from gpuemu.program.ops.references import Case
from gpuemu.program.specs import Spec, is_float, wide
from gpuemu.tensors import Array

# Fraction bits, and the smallest exponent of normal numbers.
FORMATS = {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126), "float64": (52, -1022)}


@dataclass
class Judgement:
    """The verdict on one output. failures: records of findings; share: the largest error as a share of the bound; expected: the
    reference's values, not rounded; scale: the magnitudes that bound the error, None if the judge determines them."""

    name: str
    failures: list[dict[str, Any]]
    share: float | None
    expected: Array
    scale: Array | None


def judged(op: str, inputs: Sequence[Array], specs: Sequence[Spec], got: Sequence[Array], outputs: Sequence[Spec], attrs: Mapping[str, Any],
           tolerance: ToleranceConfig | None = None, *, expected: Sequence[Array] | None = None,
           scales: Sequence[Array | None] | None = None) -> list[Judgement]:  # fmt: skip
    """Judges each output of an op. inputs, got: arrays in their own dtypes. expected, scales: replace what the op's functions return."""
    if any(spec.dtype == "bfloat16" for spec in (*specs, *outputs)) and tensors.bfloat16() is None:
        raise BackendError("checking bfloat16 needs the package ml_dtypes: pip install ml_dtypes")
    row = primitives.row(op)
    given = [wide(array, spec.dtype) for array, spec in zip(inputs, specs)]
    case = Case(op, given, list(specs), list(outputs), dict(attrs))
    again = None if expected is not None or row.scale is not None else _reference_of(case, row.inputs)
    if expected is None:
        expected = primitives.compute(op, given, specs, outputs, attrs)
    if scales is None:
        scales = _scales(row, case)
    terms = max(1, int(row.accumulate(case))) if row.accumulate is not None else 1
    judging = Judging(tolerance, accumulate=terms)
    named = {name: array for name, array, spec in zip(row.inputs, inputs, specs) if is_float(spec.dtype)}
    made = []
    for at, (name, array, want, scale, spec) in enumerate(zip(row.outputs, got, expected, scales, outputs)):
        verdict = judge.verdict(declaration.op_text(op, judging), Judged(inputs=named), array, want, scale if is_float(spec.dtype) else None,
                                None if again is None else functools.partial(again, at))  # fmt: skip
        failures = verdict["failures"] if not verdict["passed"] else []
        made.append(Judgement(name, failures, share(array, want, scale, terms, spec.dtype, tolerance), want, scale))
    return made


def _scales(row: Primitive, case: Case) -> list[Array | None]:
    if row.scale is None:
        return [None for _ in case.outputs]
    with np.errstate(all="ignore"):
        return [np.broadcast_to(np.asarray(one, np.float64), spec.shape) for one, spec in zip(row.scale(case), case.outputs)]


def _reference_of(case: Case, names: Sequence[str]) -> Callable[[int, dict[str, Array]], Array]:
    """Returns a function that computes one output again from changed inputs."""

    def again(at: int, changed: dict[str, Array]) -> Array:
        arrays = [wide(changed[name], spec.dtype) if name in changed else array for name, array, spec in zip(names, case.arrays, case.specs)]
        return primitives.compute(case.op, arrays, case.specs, case.outputs, case.attrs)[at]

    return again


def share(got: Array, want: Array, scale: Array | None, terms: int, dtype: str, tolerance: ToleranceConfig | None) -> float | None:
    """Returns the largest error as a share of the bound of docs/internals/validation.md, for the report only; the judge
    decides."""
    if not is_float(dtype) or not got.size:
        return None
    value, want = wide(got, dtype), np.asarray(want, np.float64)
    fraction, least = FORMATS[dtype]
    with np.errstate(all="ignore"):
        if tolerance is not None:
            bound = tolerance.atol + tolerance.rtol * np.abs(want)
        else:
            exponent = np.maximum(np.floor(np.log2(np.maximum(np.abs(want), 2.0**least))), least)
            half = 2.0 ** -(1 + (23 if dtype in ("float16", "bfloat16") else fraction))
            bound = 2.0 ** (exponent - fraction) + 8 * half * (math.sqrt(terms) * (np.abs(want) if scale is None else scale) + np.abs(want))
        shares = np.abs(value - want) / bound
    finite = shares[np.isfinite(shares)]
    return float(finite.max()) if finite.size else None
