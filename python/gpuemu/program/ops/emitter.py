"""Writes lowered ops: expresses one op of the IR as calls of built-in ops, constants and reshapes."""

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
        """The sizes."""
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
    """The lowering of one op. `made`: calls, constants and reshapes in order."""

    ops: list[Emitted] = field(default_factory=list)
    made: list[Ref] = field(default_factory=list)

    def op(self, kind: str, inputs: Sequence[Ref], attrs: Mapping[str, Any] | None = None, outputs: Sequence[Spec] | None = None) -> list[Ref]:
        """Writes a call; outputs: needed if they do not follow from the inputs, or are larger than those."""
        whole = primitives.attributes(kind, attrs or {})
        specs = outputs if outputs is not None else primitives.infer(kind, [one.spec for one in inputs], whole)
        refs = [Ref(spec) for spec in specs]
        self.ops.append(Emitted(kind, list(inputs), refs, whole))
        self.made += refs
        return refs

    def one(self, kind: str, *inputs: Ref, **attrs: Any) -> Ref:
        """Writes a call with one output."""
        return self.op(kind, inputs, attrs)[0]

    def constant(self, values: Any, dtype: str) -> Ref:
        """Adds a value that is part of the program."""
        array = np.array(rounded(np.asarray(values), dtype), order="C")
        ref = Ref(Spec(array.shape, dtype), constant=array)
        self.made.append(ref)
        return ref

    def reshape(self, x: Ref, shape: Sequence[int]) -> Ref:
        """Returns the same elements with another shape; x itself if it has that shape."""
        if x.shape == tuple(shape):
            return x
        assert math.prod(shape) == x.spec.elements
        ref = Ref(Spec(tuple(shape), x.dtype), alias=x)
        self.made.append(ref)
        return ref

    def flat(self, x: Ref) -> Ref:
        """Returns x with one axis, because arithmetic ops take at most four."""
        return self.reshape(x, (x.spec.elements,))

    def expand(self, x: Ref, shape: Sequence[int]) -> Ref:
        """Returns x repeated to a shape to which it broadcasts."""
        return self.op("mul", [x, self.constant(1.0, x.dtype)], None, [Spec(tuple(shape), x.dtype)])[0]

    def scaled(self, x: Ref, factor: float) -> Ref:
        """Returns x times a number."""
        return self.one("mul", x, self.constant(factor, x.dtype))

    def axis_last(self, x: Ref, axis: int) -> Ref:
        """Returns x with the axes after `axis` moved to the front, so that `axis` is the last one."""
        before, size, after = math.prod(x.shape[:axis]), x.shape[axis], math.prod(x.shape[axis + 1 :])
        if after == 1:
            return self.reshape(x, (before, size))
        turned = self.one("transpose", self.reshape(x, (before * size, after)))
        return self.reshape(turned, (after * before, size))

    def axis_back(self, x: Ref, axis: int, shape: Sequence[int]) -> Ref:
        """Undoes axis_last for a tensor that had this shape."""
        before, size, after = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
        if after == 1:
            return self.reshape(x, shape)
        turned = self.one("transpose", self.reshape(x, (after, before * size)))
        return self.reshape(turned, shape)
