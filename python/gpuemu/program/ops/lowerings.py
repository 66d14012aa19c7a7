"""What the ops of the IR become that are no built-in op themselves: one function each, row of rules.py.

Gradients that have no kernel of their own are made of those that there are, with the same result for finite numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gpuemu.program.ops.emitter import Emitter, Ref
from gpuemu.program.specs import Spec
from gpuemu.program.ops.windows import Windows, inverse

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
    return [e.axis_back(_softmax_bwd(e, y, dy), attrs["axis"], x[0].shape)]


def _softmax_bwd(e: Emitter, y: Ref, dy: Ref) -> Ref:
    total = e.one("reduce_sum", e.one("mul", y, dy), axis=1)
    return e.one("mul", y, e.one("sub", dy, e.reshape(total, (y.shape[0], 1))))


def reduction(kind: str) -> Any:
    """Along one axis, or of all elements."""

    def lower(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
        whole = attrs["axis"] is None
        y = e.one(kind, e.flat(x[0]) if whole else x[0], axis=0 if whole else attrs["axis"])
        return [e.reshape(y, outs[0].shape)]

    return lower


def max_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    given, y, dy = x
    shape, axis = ((given.spec.elements,), 0) if attrs["axis"] is None else (given.shape, attrs["axis"])
    rows = e.axis_last(e.reshape(given, shape), axis)
    kept = (*shape[:axis], 1, *shape[axis + 1 :])
    best, down = (e.axis_last(e.reshape(one, kept), axis) for one in (y, dy))
    return [e.reshape(e.axis_back(e.one("mul", _first_largest(e, rows, best), down), axis, shape), given.shape)]


def _first_largest(e: Emitter, rows: Ref, best: Ref) -> Ref:
    """1 at the first element of each row that is `best`, else 0."""
    is_best = e.less_than_one(e.positive(e.one("sub", best, rows)))
    before = np.triu(np.ones((rows.shape[1], rows.shape[1])), 1)
    earlier = e.one("gemm", is_best, e.constant(before, rows.dtype))
    return e.one("sub", is_best, e.one("relu_bwd", earlier, is_best))


def expand(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.expand(x[0], outs[0].shape)]


def reshape(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.reshape(x[0], outs[0].shape)]


def gelu_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    """dy (Phi + x phi): Phi is gelu(x) / x, but 1/2 at 0; phi has exp(z) = sigmoid(z) / sigmoid(-z)."""
    given, dy = (e.flat(one) for one in x)
    other = e.one("add", e.positive(given), e.positive(e.scaled(given, -1.0)))
    at_zero = e.less_than_one(other)
    safe = e.one("add", given, at_zero)
    share = e.one("div", e.one("gelu", safe), safe)
    share = e.one("add", e.one("mul", share, other), e.scaled(at_zero, 0.5))
    exponent = e.scaled(e.one("mul", given, given), -0.5)
    density = e.one("div", e.one("sigmoid", exponent), e.one("sigmoid", e.scaled(exponent, -1.0)))
    density = e.scaled(density, 1.0 / math.sqrt(2.0 * math.pi))
    slope = e.one("add", share, e.one("mul", given, density))
    return [e.reshape(e.one("mul", dy, slope), outs[0].shape)]


def silu_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    given, dy = (e.flat(one) for one in x)
    rest = e.one("mul", e.one("silu", given), e.one("sigmoid", e.scaled(given, -1.0)))
    return [e.reshape(e.one("mul", dy, e.one("add", e.one("sigmoid", given), rest)), outs[0].shape)]


def sigmoid_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    y, dy = (e.flat(one) for one in x)
    return [e.reshape(e.one("mul", e.one("mul", dy, y), e.less_than_one(y)), outs[0].shape)]


def tanh_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    y, dy = (e.flat(one) for one in x)
    return [e.reshape(e.one("mul", dy, e.less_than_one(e.one("mul", y, y))), outs[0].shape)]


def cross_entropy(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.one("reduce_mean", e.one("cross_entropy", *x), axis=0)]


def rmsnorm_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    """layernorm_bwd of the rows beside their negatives, whose mean is 0 and whose variance is the mean square."""
    n = x[1].shape[0]
    twice, first = (e.constant(np.arange(size) % max(1, n), "int32") for size in (2 * n, n))
    sign = e.constant(np.repeat([1.0, -1.0], n), x[0].dtype)
    wide, down = (e.one("mul", e.one("gather", e.rows(one), twice, axis=1), sign) for one in (x[0], x[2]))
    dx, dweight, _ = e.op("layernorm_bwd", [wide, e.one("gather", x[1], twice, axis=0), down], {"eps": attrs["eps"]})
    return [e.reshape(e.one("gather", dx, first, axis=1), x[0].shape), e.one("gather", dweight, first, axis=0)]


def dropout(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return [e.one("dropout", x[0], x[1], p=attrs["p"])]


def cast(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return e.op("cast", x, None, outs)


def embedding_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    return e.op("embedding_bwd", x, None, outs)


def gather_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    """The sum of the slices that went to the same place: embedding_bwd of the axis as rows."""
    index, dy = x
    shape, axis = outs[0].shape, attrs["axis"]
    before, size, after, taken = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]), index.spec.elements
    rows = e.reshape(dy, (before, taken * after))
    if before > 1:
        rows = e.one("transpose", rows)
    table = e.op("embedding_bwd", [e.flat(index), e.reshape(rows, (taken, after * before))], None, [Spec((size, after * before), dy.dtype)])[0]
    if before > 1:
        table = e.one("transpose", e.reshape(table, (size * after, before)))
    return [e.reshape(table, shape)]


def windows_of(shape: Sequence[int], kernel: Sequence[int], attrs: Attrs) -> Windows:
    """Of images of shape NCHW."""
    padding = attrs.get("padding", (0, 0))
    return Windows(shape[1], (shape[2], shape[3]), (kernel[0], kernel[1]), tuple(attrs["stride"]), tuple(padding))


def _columns(e: Emitter, x: Ref, see: Windows) -> Ref:
    """(images * places, channels * taps): what each window sees."""
    table = see.elements().transpose(1, 0, 2).reshape(see.places, see.channels * see.taps)
    seen = e.one("gather", e.reshape(x, (x.shape[0], math.prod(x.shape[1:]))), e.constant(table, "int32"), axis=1)
    return e.reshape(seen, (x.shape[0] * see.places, see.channels * see.taps))


def _channels_last(e: Emitter, x: Ref) -> Ref:
    """(images * places, channels) of images of shape NCHW."""
    n, channels, places = x.shape[0], x.shape[1], math.prod(x.shape[2:])
    turn = np.arange(channels * places).reshape(channels, places).T
    return e.reshape(e.one("gather", e.reshape(x, (n, channels * places)), e.constant(turn, "int32"), axis=1), (n * places, channels))


def conv2d(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    """A product of what the windows see with the weights."""
    w, (n, channels, *_) = x[1], outs[0].shape
    see = windows_of(x[0].shape, w.shape[2:], attrs)
    y = e.one("gemm", _columns(e, x[0], see), e.reshape(w, (channels, see.channels * see.taps)), trans_b=1)
    if len(x) == 3:
        y = e.one("bias_add", y, x[2])
    turn = np.arange(see.places * channels).reshape(see.places, channels).T
    return [e.reshape(e.one("gather", e.reshape(y, (n, see.places * channels)), e.constant(turn, "int32"), axis=1), outs[0].shape)]


def conv2d_bwd_w(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    see = windows_of(x[0].shape, outs[0].shape[2:], attrs)
    return [e.reshape(e.one("gemm", _channels_last(e, x[1]), _columns(e, x[0], see), trans_a=1), outs[0].shape)]


def conv2d_bwd_x(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    w, dy = x
    see = windows_of(outs[0].shape, w.shape[2:], attrs)
    columns = e.one("gemm", _channels_last(e, dy), e.reshape(w, (w.shape[0], see.channels * see.taps)))
    table = see.elements().transpose(1, 0, 2)
    return [_back_to_elements(e, e.reshape(columns, (dy.shape[0], table.size)), table, outs[0])]


def _back_to_elements(e: Emitter, parts: Ref, table: Any, out: Spec) -> Ref:
    """Each element of the images: the sum of the parts that the table says are of it."""
    places = inverse(table, math.prod(out.shape[1:]))
    return e.reshape(e.one("reduce_sum", e.one("gather", parts, e.constant(places, "int32"), axis=1), axis=-1), out.shape)


def pool2d(kind: str) -> Any:
    """A reduction of what each window of each channel sees."""

    def lower(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
        return [e.reshape(e.one(kind, _seen(e, x[0], windows_of(x[0].shape, attrs["kernel"], attrs)), axis=-1), outs[0].shape)]

    return lower


def _seen(e: Emitter, x: Ref, see: Windows) -> Ref:
    """(images * channels * places, taps)."""
    table = see.elements().reshape(-1, see.taps)
    seen = e.one("gather", e.reshape(x, (x.shape[0], math.prod(x.shape[1:]))), e.constant(table, "int32"), axis=1)
    return e.reshape(seen, (x.shape[0] * len(table), see.taps))


def max_pool2d_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    see = windows_of(x[0].shape, attrs["kernel"], attrs)
    seen, down = _seen(e, x[0], see), e.reshape(x[1], (x[1].spec.elements, 1))
    best = e.reshape(e.one("reduce_max", seen, axis=-1), (seen.shape[0], 1))
    parts = e.one("mul", _first_largest(e, seen, best), down)
    table = see.elements()
    return [_back_to_elements(e, e.reshape(parts, (x[0].shape[0], table.size)), table, outs[0])]


def avg_pool2d_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    see, dy = windows_of(outs[0].shape, attrs["kernel"], attrs), x[0]
    table = inverse(see.elements(), math.prod(outs[0].shape[1:]))
    windows = np.where(table < 0, -1, table // see.taps)
    taken = e.one("gather", e.reshape(dy, (dy.shape[0], math.prod(dy.shape[1:]))), e.constant(windows, "int32"), axis=1)
    return [e.reshape(e.scaled(e.one("reduce_sum", taken, axis=-1), 1.0 / see.taps), outs[0].shape)]


def attention_bwd(e: Emitter, x: Sequence[Ref], attrs: Attrs, outs: Outs) -> list[Ref]:
    """Products of a batch of matrices as sums of products: as many elements as queries * keys * columns."""
    batch = math.prod(x[0].shape[:-2])
    (queries, d), (keys, width) = x[0].shape[-2:], x[2].shape[-2:]
    q, k, v, dy = (e.reshape(one, (batch, *one.shape[-2:])) for one in x)
    scale = attrs["scale"] or 1.0 / math.sqrt(max(1, d))
    q_row, k_row = e.reshape(q, (batch, queries, 1, d)), e.reshape(k, (batch, 1, keys, d))
    v_row, dy_row = e.reshape(v, (batch, 1, keys, width)), e.reshape(dy, (batch, queries, 1, width))
    scores = e.scaled(e.one("reduce_sum", e.one("mul", q_row, k_row), axis=3), scale)
    if attrs["causal"]:
        hidden = np.where(np.tri(queries, keys, dtype=bool), 0.0, -np.inf)
        scores = e.one("add", scores, e.constant(hidden, q.dtype))
    weights = e.one("softmax", e.rows(scores))
    dweights = e.rows(e.one("reduce_sum", e.one("mul", dy_row, v_row), axis=3))
    dscores = e.reshape(e.scaled(_softmax_bwd(e, weights, dweights), scale), (batch, queries, keys, 1))
    weights = e.reshape(weights, (batch, queries, keys, 1))
    dq = e.one("reduce_sum", e.one("mul", dscores, k_row), axis=2)
    dk = e.one("reduce_sum", e.one("mul", dscores, q_row), axis=1)
    dv = e.one("reduce_sum", e.one("mul", weights, dy_row), axis=1)
    return [e.reshape(one, out.shape) for one, out in zip((dq, dk, dv), outs)]
