"""What is known of one op that programs are lowered to."""

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
    """One op. inputs, outputs: operands in order; reference: None where values cannot be judged; scale: how large the terms are
    that it sums, None where the judge has to find out; dtypes: of the first input; accumulate: terms that an element sums."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    infer: Infer
    reference: Reference | None
    scale: Reference | None
    dtypes: tuple[str, ...] = FLOATS
    accumulate: Callable[[Case], int] | None = None
    same: tuple[int, ...] | None = None  # Inputs of one dtype; None: all.

    def computed(self, case: Case) -> Sequence[Array]:
        """What the reference says, of an op that has one."""
        assert self.reference is not None
        return self.reference(case)
