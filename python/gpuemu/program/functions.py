"""The functions of a program, shared by lazy tensors and graphs: they check arguments and write ops of the IR."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuemu import arguments
from gpuemu.program.errors import DTypeError, ShapeError
import gpuemu.program.ops.primitives as primitives
from gpuemu.program.ops.rules import RAW
from gpuemu.program.specs import axis_of, broadcast, dtype_of, is_float, number_of, rounded, shape_of, text

KEY_OFFSET = 0


class Functions:
    """Writes ops with `apply`. Operands may be values of the writer, arrays, and numbers together with a value."""

    def apply(self, kind: str, inputs: Sequence[Any], attrs: dict[str, Any]) -> list[Any]:
        """Writes one op of the IR; returns its outputs."""
        raise NotImplementedError

    def written(self, value: Any, op: str, like: Any = None, dtype: str | None = None) -> Any:
        """Returns an operand as a value; a number gets the dtype of `like`."""
        raise NotImplementedError

    def one(self, kind: str, *inputs: Any, **attrs: Any) -> Any:
        """Writes an op with one output; operands may have any form."""
        return self.apply(kind, [self.written(x, kind) for x in inputs], attrs)[0]

    def binary(self, kind: str, a: Any, b: Any) -> Any:
        """Writes an arithmetic op; a number gets the dtype of the other operand."""
        like = next((x for x in (a, b) if not is_number(x)), None)
        if like is None:
            raise TypeError(f"{kind}: both operands are numbers, expected a tensor or an array")
        like = self.written(like, kind)
        pair = [self.written(x, kind, like) for x in (a, b)]
        if pair[0].dtype != pair[1].dtype:
            raise DTypeError(f"{kind}: the operands are {pair[0].spec} and {pair[1].spec}; expected one dtype, cast one of them")
        broadcast(kind, pair[0].spec, pair[1].spec)
        return self.apply(kind, pair, {})[0]

    def add(self, a: Any, b: Any) -> Any:
        """a + b, with broadcasting."""
        return self.binary("add", a, b)

    def sub(self, a: Any, b: Any) -> Any:
        """a - b, with broadcasting."""
        return self.binary("sub", a, b)

    def mul(self, a: Any, b: Any) -> Any:
        """a * b, with broadcasting."""
        return self.binary("mul", a, b)

    def div(self, a: Any, b: Any) -> Any:
        """a / b, with broadcasting."""
        return self.binary("div", a, b)

    def neg(self, x: Any) -> Any:
        """-x."""
        return self.one("neg", x)

    def matmul(self, a: Any, b: Any) -> Any:
        """The product of two matrices."""
        return self.one("matmul", a, b)

    def transpose(self, x: Any) -> Any:
        """A matrix with its axes exchanged."""
        return self.one("transpose", x)

    def linear(self, x: Any, w: Any, b: Any = None) -> Any:
        """x @ w.T + b; w is out x in. The axes of x before the last one are treated as rows."""
        x = self.written(x, "linear")
        shape = x.shape
        if len(shape) == 2 or not shape:
            return self.one("linear", x, w) if b is None else self.one("linear", x, w, b)
        rows = self.reshape(x, (-1, shape[-1]))
        y = self.one("linear", rows, w) if b is None else self.one("linear", rows, w, b)
        return self.reshape(y, (*shape[:-1], y.shape[-1]))

    def relu(self, x: Any) -> Any:
        """max(x, 0); NaN stays NaN."""
        return self.one("relu", x)

    def gelu(self, x: Any) -> Any:
        """x times the normal distribution function at x, exact."""
        return self.one("gelu", x)

    def silu(self, x: Any) -> Any:
        """x / (1 + exp(-x))."""
        return self.one("silu", x)

    def sigmoid(self, x: Any) -> Any:
        """1 / (1 + exp(-x))."""
        return self.one("sigmoid", x)

    def tanh(self, x: Any) -> Any:
        """The hyperbolic tangent."""
        return self.one("tanh", x)

    def softmax(self, x: Any, axis: int = -1) -> Any:
        """exp(x) over its sum along an axis."""
        x = self.written(x, "softmax")
        return self.apply("softmax", [x], {"axis": axis_of("softmax", axis, x.shape)})[0]

    def _reduced(self, kind: str, x: Any, axis: Any, keepdims: bool) -> Any:
        x = self.written(x, kind)
        if axis is None:
            return self.apply(kind, [x], {"axis": None, "keepdims": bool(keepdims)})[0]
        wanted = [axis_of(kind, one, x.shape) for one in (axis if isinstance(axis, (tuple, list)) else [axis])]
        if len(set(wanted)) != len(wanted):
            raise ShapeError(f"{kind}: axis {axis} names an axis twice")
        for one in sorted(wanted, reverse=True):
            x = self.apply(kind, [x], {"axis": one, "keepdims": bool(keepdims)})[0]
        return x

    def sum(self, x: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
        """The sum along axes, or of all elements."""
        return self._reduced("sum", x, axis, keepdims)

    def mean(self, x: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
        """The mean along axes, or of all elements; NaN without elements."""
        return self._reduced("mean", x, axis, keepdims)

    def max(self, x: Any, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Any:
        """The maximum along axes, or of all elements; its gradient goes to the first of equal elements."""
        return self._reduced("max", x, axis, keepdims)

    def mse_loss(self, pred: Any, target: Any) -> Any:
        """mean((pred - target)^2)."""
        return self.one("mse", pred, target)

    def cross_entropy(self, logits: Any, target: Any) -> Any:
        """The mean over rows of log(sum(exp(x))) - x[target]; a row without a valid target counts as 0."""
        return self.one("cross_entropy", logits, target)

    def layernorm(self, x: Any, weight: Any, bias: Any, eps: float = 1e-5) -> Any:
        """(x - mean) / sqrt(variance + eps) * weight + bias along the last axis."""
        return self.one("layernorm", x, weight, bias, eps=number_of("layernorm: eps", eps))

    def rmsnorm(self, x: Any, weight: Any, eps: float = 1e-5) -> Any:
        """x / sqrt(mean(x^2) + eps) * weight along the last axis."""
        return self.one("rmsnorm", x, weight, eps=number_of("rmsnorm: eps", eps))

    def conv2d(self, x: Any, w: Any, b: Any = None, *, stride: Any = 1, padding: Any = 0) -> Any:
        """Convolves images NCHW with weights OIHW; stride and padding: one number or a pair."""
        attrs = {"stride": pair("conv2d: stride", stride, 1), "padding": pair("conv2d: padding", padding, 0)}
        return self.one("conv2d", x, w, **attrs) if b is None else self.one("conv2d", x, w, b, **attrs)

    def max_pool2d(self, x: Any, kernel: Any, stride: Any = None) -> Any:
        """The maximum of each window of images NCHW; without a stride, windows are adjacent."""
        return self._pooled("max_pool2d", x, kernel, stride)

    def avg_pool2d(self, x: Any, kernel: Any, stride: Any = None) -> Any:
        """The mean of each window of images NCHW; without a stride, windows are adjacent."""
        return self._pooled("avg_pool2d", x, kernel, stride)

    def _pooled(self, kind: str, x: Any, kernel: Any, stride: Any) -> Any:
        sizes = pair(f"{kind}: kernel", kernel, 1)
        return self.one(kind, x, kernel=sizes, stride=sizes if stride is None else pair(f"{kind}: stride", stride, 1))

    def attention(self, q: Any, k: Any, v: Any, *, causal: bool = False, scale: float = 0.0) -> Any:
        """softmax(scale q k^T) v over the last two axes; causal: query i uses the keys up to i; scale 0 means 1 / sqrt(columns of
        q)."""
        return self.one("attention", q, k, v, causal=int(bool(causal)), scale=number_of("attention: scale", scale))

    def embedding(self, table: Any, index: Any) -> Any:
        """The rows of a table that the index selects; 0 for an index out of range."""
        return self.one("embedding", table, index)

    def gather(self, x: Any, index: Any, axis: int = 0) -> Any:
        """The slices of x along an axis that the index selects; 0 for an index out of range."""
        x = self.written(x, "gather")
        return self.apply("gather", [x, self.written(index, "gather")], {"axis": axis_of("gather", axis, x.shape)})[0]

    def dropout(self, x: Any, p: float = 0.5, *, seed: int) -> Any:
        """x / (1 - p), or 0 with probability p; the same seed always drops the same elements."""
        key = np.array([arguments.seed(seed), KEY_OFFSET], np.uint64)
        return self.apply("dropout", [self.written(x, "dropout"), self.written(key, "dropout")], {"p": number_of("dropout: p", p)})[0]

    def cast(self, x: Any, dtype: str) -> Any:
        """x in another dtype: to floats rounded to nearest, to integers rounded towards zero and saturated."""
        x, wanted = self.written(x, "cast"), dtype_of(dtype)
        return x if x.dtype == wanted else self.apply("cast", [x], {"dtype": wanted})[0]

    def reshape(self, x: Any, *shape: Any) -> Any:
        """The same elements with another shape; one size may be -1."""
        x = self.written(x, "reshape")
        wanted = list(shape[0]) if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else list(shape)
        if -1 in wanted:
            rest = int(np.prod([size for size in wanted if size != -1]))
            if wanted.count(-1) > 1 or not rest or x.spec.elements % rest:
                raise ShapeError(f"reshape: x is {text(x.shape)}, which has no shape {text(wanted)}")
            wanted[wanted.index(-1)] = x.spec.elements // rest
        made = shape_of(wanted)
        return x if made == x.shape else self.apply("reshape", [x], {"shape": list(made)})[0]

    def raw(self, kind: str, inputs: Sequence[Any], attrs: Mapping[str, Any] | None, outputs: Sequence[Any] | None) -> list[Any]:
        """Calls a built-in or registered op directly, with the attributes of its schema."""
        if not isinstance(kind, str):
            raise TypeError(f"kind is of type {type(kind).__name__}, expected the name of an op")
        primitives.row(kind)  # Raises for an unknown op.
        if not isinstance(inputs, (list, tuple)):
            raise TypeError(f"{kind}: inputs is of type {type(inputs).__name__}, expected a list of tensors")
        if not (attrs is None or isinstance(attrs, Mapping)):
            raise TypeError(f"{kind}: attrs is of type {type(attrs).__name__}, expected a dict or None")
        given = dict(attrs or {})
        if outputs is not None:
            if not isinstance(outputs, (list, tuple)) or not all(isinstance(one, (list, tuple)) and len(one) == 2 for one in outputs):
                raise TypeError(f"{kind}: outputs is {outputs!r}, expected a list of (shape, dtype)")
            given["outputs"] = [[list(shape_of(one[0])), dtype_of(one[1])] for one in outputs]
        return self.apply(RAW + kind, [self.written(x, kind) for x in inputs], given)


def is_number(value: Any) -> bool:
    """True for a Python number or a NumPy scalar."""
    return isinstance(value, (int, float, np.number, np.bool_)) and not isinstance(value, np.ndarray)


def number_array(value: Any, dtype: str, op: str) -> np.ndarray[Any, Any]:
    """Returns a number as an array of a tensor's dtype. Raises DTypeError for a fraction with an integer dtype, and for an
    integer out of its range."""
    if not is_float(dtype):
        if isinstance(value, (float, np.floating)) and not float(value).is_integer():
            raise DTypeError(f"{op}: {value} is no whole number, the tensor is {dtype}")
        limits = (0, 1) if dtype == "bool" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
        if not limits[0] <= int(value) <= limits[1]:
            raise DTypeError(f"{op}: {value} is beyond {dtype}, which reaches from {limits[0]} to {limits[1]}")
    return rounded(np.asarray(float(value) if is_float(dtype) else int(value)), dtype)


def pair(what: str, value: Any, least: int) -> list[int]:
    """Returns a pair: one number is used for both axes."""
    both = list(value) if isinstance(value, (tuple, list)) else [value, value]
    if len(both) != 2:
        raise ShapeError(f"{what} is {value}, expected one number or two")
    return [arguments.whole(one, what, least) for one in both]


NAMES = ("add", "sub", "mul", "div", "neg", "matmul", "transpose", "linear", "relu", "gelu", "silu", "sigmoid", "tanh", "softmax", "sum",
         "mean", "max", "mse_loss", "cross_entropy", "layernorm", "rmsnorm", "conv2d", "max_pool2d", "avg_pool2d", "attention", "embedding",
         "gather", "dropout", "cast", "reshape")  # fmt: skip
for _name in NAMES:
    getattr(Functions, _name).__qualname__ = _name  # Python's messages about arguments begin with it.
