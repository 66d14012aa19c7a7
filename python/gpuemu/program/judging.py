"""Judges what one op computed by its reference, with the judge of `gpuemu test`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpuemu import tensors
from gpuemu.check import declaration, judge
from gpuemu.check.declaration import Judging
from gpuemu.check.judge import Judged
from gpuemu.check.tolerances import ToleranceConfig
from gpuemu.program.ops import primitives
from gpuemu.program.errors import BackendError
from gpuemu.program.ops.references import Case
from gpuemu.program.specs import Spec, is_float, wide
from gpuemu.tensors import Array

# Bits behind the point, and the least exponent of normal numbers.
FORMATS = {"float16": (10, -14), "bfloat16": (7, -126), "float32": (23, -126), "float64": (52, -1022)}


@dataclass
class Judgement:
    """Of one output. failures: records of findings; share: the largest error as a share of the bound; expected: not rounded."""

    name: str
    failures: list[dict[str, Any]]
    share: float | None
    expected: Array


def judged(op: str, inputs: Sequence[Array], specs: Sequence[Spec], got: Sequence[Array], outputs: Sequence[Spec], attrs: Mapping[str, Any],
           tolerance: ToleranceConfig | None = None, *, expected: Sequence[Array] | None = None) -> list[Judgement]:  # fmt: skip
    """Each output of an op. inputs, got: in the elements of their dtypes. expected: instead of what the reference says."""
    if any(spec.dtype == "bfloat16" for spec in (*specs, *outputs)) and tensors.bfloat16() is None:
        raise BackendError("checking bfloat16 needs the package ml_dtypes: pip install ml_dtypes")
    row = primitives.PRIMITIVES[op]
    given = [wide(array, spec.dtype) for array, spec in zip(inputs, specs)]
    case = Case(op, given, list(specs), list(outputs), dict(attrs))
    if expected is None:
        expected = primitives.compute(op, given, specs, outputs, attrs)
    with np.errstate(all="ignore"):
        scales = [np.broadcast_to(np.asarray(one, np.float64), spec.shape) for one, spec in zip(row.scale(case), outputs)]
    terms = max(1, int(row.accumulate(case))) if row.accumulate is not None else 1
    judging = Judging(tolerance, accumulate=terms)
    named = {name: array for name, array, spec in zip(row.inputs, inputs, specs) if is_float(spec.dtype)}
    made = []
    for name, array, want, scale, spec in zip(row.outputs, got, expected, scales, outputs):
        verdict = judge.verdict(declaration.op_text(op, judging), Judged(inputs=named), array, want, scale if is_float(spec.dtype) else None)
        made.append(Judgement(name, verdict["failures"] if not verdict["passed"] else [], share(array, want, scale, terms, spec.dtype, tolerance), want))
    return made


def share(got: Array, want: Array, scale: Array, terms: int, dtype: str, tolerance: ToleranceConfig | None) -> float | None:
    """The largest error as a share of the bound of docs/internals/validation.md, for the report; the judge decides."""
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
            bound = 2.0 ** (exponent - fraction) + 8 * half * (math.sqrt(terms) * scale + np.abs(want))
        shares = np.abs(value - want) / bound
    finite = shares[np.isfinite(shares)]
    return float(finite.max()) if finite.size else None
