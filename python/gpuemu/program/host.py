"""Runs lowered programs on the host: each op by its reference, rounded once to its dtype."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gpuemu.program.ops.primitives as primitives
from gpuemu.program.plan import BindingPlan
from gpuemu.program.specs import Spec, rounded, wide
from gpuemu.tensors import Array


def run(lowered: Sequence[Mapping[str, Any]], plan: BindingPlan, env: dict[int, Array], each: Callable[[int], None] | None = None) -> None:
    """Computes every call. env: content of the sources by vid; results are added, and removed after their last use except outputs
    and parameters. each: called with the number of a call before it runs."""
    last = {vid: span[1] for vid, span in plan.lifetimes.items()}
    for index, one in enumerate(lowered):
        if each is not None:
            each(index)
        inputs = [value_of(vid, plan, env) for vid in one["inputs"]]
        made = call(one["op"], inputs, [plan.specs[vid] for vid in one["inputs"]], [plan.specs[vid] for vid in one["outputs"]], one["attrs"])
        for vid, array in zip(one["outputs"], made):
            env[plan.storage(vid)] = array.reshape(plan.specs[plan.storage(vid)].shape)
        for vid in {plan.storage(vid) for vid in (*one["inputs"], *one["outputs"])}:
            if last.get(vid) == index:
                del env[vid]


def value_of(vid: int, plan: BindingPlan, env: Mapping[int, Array]) -> Array:
    """Returns the content of a value, resolving aliases."""
    return env[plan.storage(vid)].reshape(plan.specs[vid].shape)


def call(op: str, inputs: Sequence[Array], specs: Sequence[Spec], outputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Array]:
    """Computes one op on arrays of the given dtypes."""
    given = [wide(array, spec.dtype) for array, spec in zip(inputs, specs)]
    made = primitives.compute(op, given, specs, outputs, attrs)
    return [rounded(array, spec.dtype) for array, spec in zip(made, outputs)]
