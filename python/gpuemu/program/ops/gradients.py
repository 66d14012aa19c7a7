"""The gradient of each op of the IR, written as ops of the IR: one function for each row of rules.py."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

from gpuemu.program.specs import is_float


class Backward:
    """The gradient computation of one op. apply(kind, inputs, attrs): writes an op and returns its outputs; dys: gradients of the
    outputs. Only the shape of `inputs` may be used unless the gradient needs their values. number(value, like): a number as a
    value with the dtype of another one. wanted: which inputs need a gradient; the gradients of the others may be None."""

    __slots__ = ("apply", "attrs", "dys", "inputs", "number", "outputs", "wanted")

    def __init__(self, apply: Callable[[str, Sequence[Any], dict[str, Any]], list[Any]], inputs: Sequence[Any], outputs: Sequence[Any],
                 attrs: dict[str, Any], dys: Sequence[Any], number: Callable[[float, Any], Any], wanted: Sequence[bool]) -> None:  # fmt: skip
        self.apply, self.inputs, self.outputs, self.attrs, self.dys, self.number, self.wanted = apply, inputs, outputs, attrs, dys, number, wanted

    @property
    def dy(self) -> Any:
        """The gradient of the only output."""
        return self.dys[0]

    def f(self, kind: str, *inputs: Any, **attrs: Any) -> Any:
        """Writes an op with one output."""
        return self.apply(kind, inputs, attrs)[0]

    def scaled(self, x: Any, factor: float) -> Any:
        """Returns x times a number."""
        return self.f("mul", x, self.number(factor, x))

    def reshaped(self, x: Any, shape: Sequence[int]) -> Any:
        """Returns x with this shape; x itself if it has the shape."""
        return x if x.shape == tuple(shape) else self.f("reshape", x, shape=list(shape))

    def expanded(self, x: Any, shape: Sequence[int]) -> Any:
        """Returns x repeated to the shape."""
        return x if x.shape == tuple(shape) else self.f("expand", x, shape=list(shape))

    def sum_to(self, dy: Any, shape: Sequence[int]) -> Any:
        """Returns the sum over the axes along which an operand of that shape was repeated."""
        lead = len(dy.shape) - len(shape)
        wide = (1,) * lead + tuple(shape)
        for axis in range(len(wide)):
            if wide[axis] == 1 and dy.shape[axis] != 1:
                dy = self.f("sum", dy, axis=axis, keepdims=True)
        return self.reshaped(dy, shape)


Gradients = list[Any]


def add(b: Backward) -> Gradients:
    return [b.sum_to(b.dy, one.shape) if wanted else None for one, wanted in zip(b.inputs, b.wanted)]


def sub(b: Backward) -> Gradients:
    x, y = b.inputs
    return [b.sum_to(b.dy, x.shape) if b.wanted[0] else None, b.f("neg", b.sum_to(b.dy, y.shape)) if b.wanted[1] else None]


def mul(b: Backward) -> Gradients:
    x, y = b.inputs
    return [b.sum_to(b.f("mul", b.dy, y), x.shape) if b.wanted[0] else None, b.sum_to(b.f("mul", b.dy, x), y.shape) if b.wanted[1] else None]


def div(b: Backward) -> Gradients:
    x, y = b.inputs
    share = b.f("div", b.dy, y)
    return [b.sum_to(share, x.shape) if b.wanted[0] else None,
            b.f("neg", b.sum_to(b.f("mul", share, b.f("div", x, y)), y.shape)) if b.wanted[1] else None]  # fmt: skip


def neg(b: Backward) -> Gradients:
    return [b.f("neg", b.dy)]


def of_input(kind: str) -> Callable[[Backward], Gradients]:
    """Returns the gradient that is an op of x and dy with the op's own attributes."""
    return lambda b: [b.f(kind, b.inputs[0], b.dy, **b.attrs)]


def of_output(kind: str) -> Callable[[Backward], Gradients]:
    """Returns the gradient that is an op of y and dy with the op's own attributes."""
    return lambda b: [b.f(kind, b.outputs[0], b.dy, **b.attrs)]


def matmul(b: Backward) -> Gradients:
    x, y = b.inputs
    return [b.f("gemm", b.dy, y, trans_b=1), b.f("gemm", x, b.dy, trans_a=1)]


def linear(b: Backward) -> Gradients:
    return b.apply("linear_bwd", [b.inputs[0], b.inputs[1], b.dy], {})[: len(b.inputs)]


def transpose(b: Backward) -> Gradients:
    return [b.f("transpose", b.dy)]


def reshape(b: Backward) -> Gradients:
    return [b.reshaped(b.dy, b.inputs[0].shape)]


def expand(b: Backward) -> Gradients:
    return [b.sum_to(b.dy, b.inputs[0].shape)]


def _with_axis(b: Backward, dy: Any) -> Any:
    shape, axis = b.inputs[0].shape, b.attrs["axis"]
    kept = (1,) * len(shape) if axis is None else (*shape[:axis], 1, *shape[axis + 1 :])
    return b.reshaped(dy, kept)


def sum(b: Backward) -> Gradients:
    return [b.expanded(_with_axis(b, b.dy), b.inputs[0].shape)]


def mean(b: Backward) -> Gradients:
    x, axis = b.inputs[0], b.attrs["axis"]
    count = x.spec.elements if axis is None else x.shape[axis]
    return [b.expanded(_with_axis(b, b.scaled(b.dy, 1.0 / builtins.max(1, count))), x.shape)]


def max(b: Backward) -> Gradients:
    return [b.f("max_bwd", b.inputs[0], b.dy, axis=b.attrs["axis"])]


def mse(b: Backward) -> Gradients:
    dx = b.f("mul", b.f("mse_grad", *b.inputs), b.dy)
    return [dx, b.f("neg", dx) if b.wanted[1] else None]


def cross_entropy(b: Backward) -> Gradients:
    rows = b.inputs[0].shape[:1]
    dloss = b.expanded(b.scaled(b.dy, 1.0 / (rows[0] or 1)), rows)
    return [b.f("cross_entropy_grad", b.inputs[0], b.inputs[1], dloss), None]


def layernorm(b: Backward) -> Gradients:
    return b.apply("layernorm_bwd", [b.inputs[0], b.inputs[1], b.dy], {"eps": b.attrs["eps"]})


def rmsnorm(b: Backward) -> Gradients:
    return b.apply("rmsnorm_bwd", [*b.inputs, b.dy], {"eps": b.attrs["eps"]})


def conv2d(b: Backward) -> Gradients:
    x, w = b.inputs[:2]
    dx = b.f("conv2d_bwd_x", w, b.dy, shape=list(x.shape), **b.attrs)
    dw = b.f("conv2d_bwd_w", x, b.dy, shape=list(w.shape), **b.attrs)
    if len(b.inputs) == 2:
        return [dx, dw]
    n, channels, rows, columns = b.dy.shape
    over_places = b.f("sum", b.reshaped(b.dy, (n, channels, rows * columns)), axis=2, keepdims=False)
    return [dx, dw, b.f("sum", over_places, axis=0, keepdims=False)]


def avg_pool2d(b: Backward) -> Gradients:
    return [b.f("avg_pool2d_bwd", b.dy, shape=list(b.inputs[0].shape), **b.attrs)]


def attention(b: Backward) -> Gradients:
    return b.apply("attention_bwd", [*b.inputs, b.dy], dict(b.attrs))


def embedding(b: Backward) -> Gradients:
    return [b.f("embedding_bwd", b.inputs[1], b.dy, shape=list(b.inputs[0].shape)), None]


def gather(b: Backward) -> Gradients:
    return [b.f("gather_bwd", b.inputs[1], b.dy, shape=list(b.inputs[0].shape), axis=b.attrs["axis"]), None]


def dropout(b: Backward) -> Gradients:
    return [b.f("dropout", b.dy, b.inputs[1], p=b.attrs["p"]), None]


def cast(b: Backward) -> Gradients:
    to = b.inputs[0].dtype
    return [b.f("cast", b.dy, dtype=to) if is_float(to) else None]


def copy(b: Backward) -> Gradients:
    return [b.dy]
