"""Lowers the ops of the IR that differ from a built-in op in operands or attributes: one function for each such row of
rules.py."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuemu.program.ops.emitter import Emitter, Ref
from gpuemu.program.specs import Spec

Attrs = Mapping[str, Any]
Outs = Sequence[Spec]


def neg(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.reshape(e.scaled(e.flat(x[0]), -1), x[0].shape)]


def linear(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    y = e.one("gemm", x[0], x[1], trans_b=1)
    return [y if len(x) == 2 else e.one("bias_add", y, x[2])]


def matmul(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.one("gemm", x[0], x[1])]


def softmax(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    if attrs["axis"] == len(x[0].shape) - 1:
        return [e.one("softmax", x[0])]
    return [e.axis_back(e.one("softmax", e.axis_last(x[0], attrs["axis"])), attrs["axis"], x[0].shape)]


def softmax_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    y, dy = (e.axis_last(one, attrs["axis"]) for one in x)
    return [e.axis_back(e.one("softmax_bwd", y, dy), attrs["axis"], x[0].shape)]


def reduction(kind: str) -> Any:
    """Returns the lowering of a reduction along one axis, or over all elements."""

    def lower(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
        whole = attrs["axis"] is None
        y = e.one(kind, e.flat(x[0]) if whole else x[0], axis=0 if whole else attrs["axis"])
        return [e.reshape(y, outs[0].shape)]

    return lower


def max_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    given, dy = x
    shape, axis = ((given.spec.elements,), 0) if attrs["axis"] is None else (given.shape, attrs["axis"])
    kept = (*shape[:axis], 1, *shape[axis + 1 :])
    return [e.reshape(e.one("reduce_max_bwd", e.reshape(given, shape), e.reshape(dy, kept), axis=axis), given.shape)]


def expand(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.expand(x[0], outs[0].shape)]


def reshape(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.reshape(x[0], outs[0].shape)]


def cross_entropy(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.one("reduce_mean", e.one("cross_entropy", *x), axis=0)]


def dropout(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.one("dropout", x[0], x[1], p=attrs["p"])]


def cast(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return e.op("cast", x, None, outs)


def embedding_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return e.op("embedding_bwd", x, None, outs)


def gather_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return e.op("gather_bwd", x, {"axis": attrs["axis"]}, outs)


def _steps(attrs: Attrs) -> dict[str, int]:
    """Converts attributes of the IR, pairs of rows and columns, to those of the built-in op."""
    names = {"stride": "stride", "padding": "pad", "kernel": "kernel"}
    return {f"{names[name]}_{axis}": number for name, pair in attrs.items() if name in names
            for axis, number in zip(("rows", "columns"), pair)}  # fmt: skip


def conv2d(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    y = e.op("conv2d", x[:2], _steps(attrs))[0]
    return [y if len(x) == 2 else e.one("add", y, e.reshape(x[2], (x[2].shape[0], 1, 1)))]


def of_images(kind: str) -> Any:
    """Returns the lowering to the built-in op of the same name, whose attributes are numbers."""

    def lower(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
        return e.op(kind, x, _steps(attrs), outs)

    return lower
