"""Describes one op that programs are lowered to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuemu.program.ops.references import Case
from gpuemu.program.specs import FLOATS, Spec
from gpuemu.tensors import Array

Infer = Callable[[str, Sequence[Spec], Mapping[str, Any]], list[Spec]]
Reference = Callable[[Case], Sequence[Array]]


@dataclass(frozen=True)
class Primitive:
    """One op. inputs, outputs: operand names in order; reference: None if its values cannot be judged; scale: the magnitudes of the
    terms that it sums, None if the judge finds them; dtypes: accepted for the first input; accumulate: terms summed per element."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    infer: Infer
    reference: Reference | None
    scale: Reference | None
    dtypes: tuple[str, ...] = FLOATS
    accumulate: Callable[[Case], int] | None = None
    same: tuple[int, ...] | None = None  # Inputs that must have one dtype; None: all.

    def computed(self, case: Case) -> Sequence[Array]:
        """Calls the reference. REQUIRES: the op has one."""
        assert self.reference is not None
        return self.reference(case)
