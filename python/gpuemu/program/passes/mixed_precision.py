"""Computes matrix products in 16 bits and everything else in float32; scales gradients by a loss scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuemu.program.errors import DTypeError, GraphError
from gpuemu.program.passes.rebuild import Rebuilt, rebuild
from gpuemu.program.values import Node, Value

HALVES = ("float16", "bfloat16")
GRADIENTS = ("mse_grad", "cross_entropy_grad", "op:mse_grad", "op:cross_entropy_grad")  # Ops that start the backward pass.
# Operands in which an op is linear while the others are fixed.
LINEAR = {"relu_bwd": (1,), "gelu_bwd": (1,), "silu_bwd": (1,), "sigmoid_bwd": (1,), "tanh_bwd": (1,), "softmax_bwd": (1,), "linear_bwd": (2,),
          "layernorm_bwd": (2,), "rmsnorm_bwd": (2,), "matmul": (0, 1), "mul": (0, 1), "div": (0,), "neg": (0,), "transpose": (0,), "reshape": (0,),
          "expand": (0,), "sum": (0,), "mean": (0,), "copy_saved": (0,)}  # fmt: skip


class _Writer:
    """State of the rewrite, by vid of the new graph. `halves`: 16-bit copies; `plain`: unscaled copies; `scaled`: values times the loss scale."""

    def __init__(self, dtype: str, loss_scale: str, changes: list[str]) -> None:
        self.dtype, self.loss_scale, self.changes = dtype, loss_scale, changes
        self.halves: dict[int, Value] = {}
        self.plain: dict[int, Value] = {}
        self.scaled: set[int] = set()
        self.scale: Value | None = None

    def write(self, made: Rebuilt, node: Node) -> Sequence[Value]:
        """Writes one op of the old graph; returns its outputs."""
        inputs = [made[vid] for vid in node.inputs]
        taken = [at for at, one in enumerate(inputs) if one.vid in self.scaled]
        keeps = len(taken) == 1 and taken[0] in LINEAR.get(node.kind, ())
        if taken and not keeps:
            inputs = [self.unscaled(made, node.where, one) for one in inputs]
        product = PRODUCTS.get(node.kind)
        if product is not None and all(one.dtype == "float32" for one in inputs):
            outputs = product(self, made, node, inputs)
            self.changes.append(f"op {node.index}, {node.kind}: products in {self.dtype}")
        else:
            outputs = made.apply(node.where, node.kind, inputs, node.attrs)
        if taken and keeps:
            self.scaled.update(one.vid for one in outputs)
        if node.kind in GRADIENTS and outputs[0].dtype == "float32":
            outputs = [self.times(made, node.where, outputs[0])]
            self.changes.append(f"op {node.index}, {node.kind}: multiplied by {self.loss_scale}")
        return outputs

    def half(self, made: Rebuilt, where: str, x: Value) -> Value:
        """x in 16 bits; each value is cast only once."""
        if x.vid not in self.halves:
            self.halves[x.vid] = made.one(where, "cast", x, dtype=self.dtype)
        return self.halves[x.vid]

    def product(self, made: Rebuilt, where: str, a: Value, b: Value, **attrs: Any) -> Value:
        """A matrix product in 16 bits, cast back to float32."""
        y = made.one(where, "op:gemm", self.half(made, where, a), self.half(made, where, b), **attrs)
        return made.one(where, "cast", y, dtype="float32")

    def times(self, made: Rebuilt, where: str, x: Value) -> Value:
        """Multiplies a gradient by the loss scale."""
        if self.scale is None:
            self.scale = made.graph.meta(self.loss_scale, (1,))
        y = made.one(where, "mul", made.one(where, "reshape", x, shape=[1]) if not x.shape else x, self.scale)
        y = y if x.shape else made.one(where, "reshape", y, shape=[])
        self.scaled.add(y.vid)
        return y

    def unscaled(self, made: Rebuilt, where: str, x: Value) -> Value:
        """Divides a value by the loss scale if it is scaled."""
        if x.vid not in self.scaled:
            return x
        assert self.scale is not None
        if x.vid not in self.plain:
            y = made.one(where, "div", made.one(where, "reshape", x, shape=[1]) if not x.shape else x, self.scale)
            self.plain[x.vid] = y if x.shape else made.one(where, "reshape", y, shape=[])
        return self.plain[x.vid]


def _linear(writer: _Writer, made: Rebuilt, node: Node, x: Sequence[Value]) -> list[Value]:
    y = writer.product(made, node.where, x[0], x[1], trans_b=1)
    return [y if len(x) == 2 else made.one(node.where, "op:bias_add", y, x[2])]


def _matmul(writer: _Writer, made: Rebuilt, node: Node, x: Sequence[Value]) -> list[Value]:
    return [writer.product(made, node.where, x[0], x[1])]


def _linear_bwd(writer: _Writer, made: Rebuilt, node: Node, x: Sequence[Value]) -> list[Value]:
    data, w, dy = x
    return [writer.product(made, node.where, dy, w), writer.product(made, node.where, dy, data, trans_a=1),
            made.one(node.where, "sum", dy, axis=0, keepdims=False)]  # fmt: skip


def _gemm(writer: _Writer, made: Rebuilt, node: Node, x: Sequence[Value]) -> list[Value]:
    return [writer.product(made, node.where, x[0], x[1], **node.attrs)]


PRODUCTS = {"linear": _linear, "matmul": _matmul, "linear_bwd": _linear_bwd, "gemm": _gemm, "op:gemm": _gemm}


def mixed_precision(graph: Any, *, dtype: str = "float16", loss_scale: str = "loss_scale") -> tuple[Any, list[str]]:
    """Computes float32 matrix products in `dtype`; everything else, parameters and sums too, stays float32. Gradients of a loss are
    multiplied by a meta of shape (1,) named `loss_scale`, and divided by it again for optimizers and outputs."""
    if dtype not in HALVES:
        raise DTypeError(f"mixed_precision: dtype is '{dtype}', expected {' or '.join(HALVES)}")
    if any(value.producer is None and value.name == loss_scale for value in graph.values):
        raise GraphError(f"mixed_precision: the name '{loss_scale}' is taken; choose another name with loss_scale=")
    changes: list[str] = []
    writer = _Writer(dtype, loss_scale, changes)

    def output(made: Rebuilt, vid: int) -> Value:
        value = made[vid]
        return writer.unscaled(made, made.graph.nodes[value.producer].where if value.producer is not None else "", value)

    return rebuild(graph, writer.write, output), changes
