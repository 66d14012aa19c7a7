"""Writes lowered ops: values of one op of the IR as calls of built-in ops, constants and reshapes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gpuemu.program.ops.primitives as primitives
from gpuemu.program.specs import Spec, rounded
from gpuemu.tensors import Array


@dataclass(eq=False)
class Ref:
    """A value while an op is lowered. `alias`: the value whose storage it shares; `constant`: its content."""

    spec: Spec
    vid: int | None = None
    alias: Ref | None = None
    constant: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes."""
        return self.spec.shape

    @property
    def dtype(self) -> str:
        """The dtype's name."""
        return self.spec.dtype


@dataclass
class Emitted:
    """One call of a built-in op."""

    op: str
    inputs: list[Ref]
    outputs: list[Ref]
    attrs: dict[str, Any]


@dataclass
class Emitter:
    """What one op becomes. `made`: calls, constants and reshapes in their order."""

    ops: list[Emitted] = field(default_factory=list)
    made: list[Ref] = field(default_factory=list)

    def op(self, kind: str, inputs: Sequence[Ref], attrs: Mapping[str, Any] | None = None, outputs: Sequence[Spec] | None = None) -> list[Ref]:
        """A call; outputs: where they do not follow from the inputs, or are wider than they are."""
        whole = primitives.attributes(kind, attrs or {})
        specs = outputs if outputs is not None else primitives.infer(kind, [one.spec for one in inputs], whole)
        refs = [Ref(spec) for spec in specs]
        self.ops.append(Emitted(kind, list(inputs), refs, whole))
        self.made += refs
        return refs

    def one(self, kind: str, *inputs: Ref, **attrs: Any) -> Ref:
        """A call with one output."""
        return self.op(kind, inputs, attrs)[0]

    def constant(self, values: Any, dtype: str) -> Ref:
        """A value that is part of the program."""
        array = np.array(rounded(np.asarray(values), dtype), order="C")
        ref = Ref(Spec(array.shape, dtype), constant=array)
        self.made.append(ref)
        return ref

    def reshape(self, x: Ref, shape: Sequence[int]) -> Ref:
        """The same elements with other sizes; x itself where it has them."""
        if x.shape == tuple(shape):
            return x
        assert math.prod(shape) == x.spec.elements
        ref = Ref(Spec(tuple(shape), x.dtype), alias=x)
        self.made.append(ref)
        return ref

    def flat(self, x: Ref) -> Ref:
        """One axis: arithmetic takes four at most."""
        return self.reshape(x, (x.spec.elements,))

    def expand(self, x: Ref, shape: Sequence[int]) -> Ref:
        """x repeated to a shape to which it broadcasts."""
        return self.op("mul", [x, self.constant(1.0, x.dtype)], None, [Spec(tuple(shape), x.dtype)])[0]

    def scaled(self, x: Ref, factor: float) -> Ref:
        """x times a number."""
        return self.one("mul", x, self.constant(factor, x.dtype))

    def axis_last(self, x: Ref, axis: int) -> Ref:
        """x with the axes after `axis` in front of the first, so that `axis` is the last one."""
        before, size, after = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
        if after == 1:
            return self.reshape(x, (before, size))
        turned = self.one("transpose", self.reshape(x, (before * size, after)))
        return self.reshape(turned, (after * before, size))

    def axis_back(self, x: Ref, axis: int, shape: Sequence[int]) -> Ref:
        """What axis_last has made of a tensor of this shape, with its axes in their places."""
        before, size, after = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
        if after == 1:
            return self.reshape(x, shape)
        turned = self.one("transpose", self.reshape(x, (after, before * size)))
        return self.reshape(turned, shape)
