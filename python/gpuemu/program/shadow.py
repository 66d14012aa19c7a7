"""Computes the outputs of an op without rounding: the emulator runs the op's own kernel and computes exact values beside the
rounded ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuemu import runtime
import gpuemu.program.ops.primitives as primitives
from gpuemu.program.specs import Spec, is_float, wide
from gpuemu.runtime.calling import exact_call
from gpuemu.tensors import Array


def emulator_like(device: runtime.Device) -> runtime.Device:
    """Returns the device if it is an emulator, else a new emulator of its architecture, which the caller closes."""
    return device if device.is_emulator else runtime.Device("emulator", arch=device.info.architecture)


def in_place(one: Mapping[str, Any], storage: Any) -> dict[int, int]:
    """Maps each output that overwrites an input to that input, both by number. storage: the root of a vid."""
    return {j: i for i, given in enumerate(one["inputs"]) for j, made in enumerate(one["outputs"]) if storage(given) == storage(made)}


def exact(device: runtime.Device, op: str, variant: str | None, attrs: Mapping[str, Any], inputs: Sequence[Array], specs: Sequence[Spec],
          outputs: Sequence[Spec], into: Mapping[int, int]) -> list[Array]:  # fmt: skip
    """Returns the outputs without rounding, floats as float64. into: outputs that overwrite an input. Raises UnsupportedError if
    a library computes the op."""
    given = [device.tensor(array, dtype=spec.dtype) for array, spec in zip(inputs, specs)]
    made = [given[into[j]] if j in into else device.empty(spec.shape, spec.dtype) for j, spec in enumerate(outputs)]
    schema, packed = primitives.packed(op, attrs)
    try:
        told = exact_call(op, given, made, packed if schema else None, schema_id=schema or None, variant=variant or None, device=device)
    except runtime.NotFoundError as problem:
        raise runtime.UnsupportedError(f"{op}: '{variant}' does not run on the emulator, which follows values without rounding: {problem}") from None
    return [_without_rounding(tensor.numpy(), spec, one) for tensor, spec, one in zip(made, outputs, told)]


def _without_rounding(computed: Array, spec: Spec, told: Any) -> Array:
    """Returns the exact values. Elements that no float instruction computed were only moved and keep the computed value."""
    if told is None or not is_float(spec.dtype):
        return computed
    with np.errstate(all="ignore"):
        return np.where(told["known"] != 0, told["high"] + told["low"], wide(computed, spec.dtype).reshape(-1)).reshape(spec.shape)
