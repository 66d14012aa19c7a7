"""The built-in ops that programs are lowered to: their operands, the shapes of their outputs, their references.

A row of PRIMITIVES defines the result of one op of gpuemu.runtime.ops(), in float64. `scale` returns the magnitude of the terms
that the op sums; the allowed error is a multiple of it. Attributes are those of gpuemu.op_attributes.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import gpuemu.program.ops.registered as registered
from gpuemu import op_attributes
import gpuemu.program.ops.gradient_references as back
import gpuemu.program.ops.image_references as image
import gpuemu.program.ops.references as of
from gpuemu.program.errors import BackendError, DTypeError, GraphError, ShapeError, unknown_op
from gpuemu.program.ops.primitive import Primitive
from gpuemu.program.ops.references import Case
from gpuemu.program.specs import FLOATS, Spec, axis_of, broadcast, text
from gpuemu.tensors import Array

NUMBERS = (*FLOATS, "int32", "int64")
INDICES = ("int32", "int64")


def fit(op: str, condition: bool, what: str) -> None:
    """Raises ShapeError if a shape does not fit."""
    if not condition:
        raise ShapeError(f"{op}: {what}")


def _like(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    for one in inputs[1:]:
        fit(op, one.shape == inputs[0].shape, f"an operand is {text(one.shape)}, expected {text(inputs[0].shape)}, the shape of the first")
    return [inputs[0]]


def _binary(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    return [Spec(broadcast(op, inputs[0], inputs[1]), inputs[0].dtype)]


def _rows(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x = inputs[0]
    fit(op, len(x.shape) >= 1, "x has no axis, expected one or more")
    for one in inputs[1:]:
        fit(op, one.shape == x.shape[-1:], f"an operand is {text(one.shape)}, expected {text(x.shape[-1:])}: one element per column of x, {text(x.shape)}")
    return [x]


def _rows_bwd(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x, weight, dy = inputs
    _rows(op, [x, weight], attrs)
    _like(op, [x, dy], attrs)
    return [x, weight, weight]


def _gemm(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    a, b = inputs
    fit(op, len(a.shape) == 2 and len(b.shape) == 2, f"the operands are {text(a.shape)} and {text(b.shape)}, expected matrices")
    (m, k), (l, n) = a.shape[:: -1 if attrs["trans_a"] else 1], b.shape[:: -1 if attrs["trans_b"] else 1]
    fit(op, k == l, f"the operands are {text(a.shape)} and {text(b.shape)}: {k} columns meet {l} rows")
    return [Spec((m, n), a.dtype)]


def _matmul(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    return _gemm(op, inputs, {"trans_a": 0, "trans_b": 0})


def _linear_bwd(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x, w, dy = inputs
    fit(op, all(len(one.shape) == 2 for one in inputs), "x, w and dy are matrices")
    fit(op, x.shape[1] == w.shape[1] and dy.shape == (x.shape[0], w.shape[0]),
        f"x is {text(x.shape)}, w {text(w.shape)} and dy {text(dy.shape)}, expected (rows, in), (out, in) and (rows, out)")  # fmt: skip
    return [x, w, Spec((w.shape[0],), w.dtype)]


def _transpose(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x = inputs[0]
    fit(op, len(x.shape) == 2, f"x is {text(x.shape)}, expected a matrix")
    return [Spec(x.shape[::-1], x.dtype)]


def _reduce(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x = inputs[0]
    axis = axis_of(op, attrs["axis"], x.shape)
    return [Spec((*x.shape[:axis], *x.shape[axis + 1 :]), x.dtype)]


def _scalar(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    return [Spec((), _like(op, inputs, attrs)[0].dtype)]


def _row_targets(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x, target = inputs[:2]
    fit(op, len(x.shape) == 2 and target.shape == x.shape[:1], f"x is {text(x.shape)} and target {text(target.shape)}, expected a matrix and one target per row")
    if target.dtype not in INDICES:
        raise DTypeError(f"{op}: target is {target.dtype}, expected {' or '.join(INDICES)}")
    return [Spec(x.shape[:1], x.dtype)]


def _row_targets_bwd(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    rows = _row_targets(op, inputs, attrs)[0]
    fit(op, inputs[2] == rows, f"dloss is {inputs[2]}, expected {rows}")
    return [inputs[0]]


def _gather(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x, index = inputs
    if index.dtype not in INDICES:
        raise DTypeError(f"{op}: index is {index.dtype}, expected {' or '.join(INDICES)}")
    fit(op, op == "gather" or len(x.shape) == 2, f"table is {text(x.shape)}, expected a matrix")
    axis = axis_of(op, attrs.get("axis", 0), x.shape)
    return [Spec((*x.shape[:axis], *index.shape, *x.shape[axis + 1 :]), x.dtype)]


def _attention(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    q, k, v = (one.shape for one in inputs)
    fit(op, len(q) >= 2 and len(q) == len(k) == len(v) and q[:-2] == k[:-2] == v[:-2] and q[-1] == k[-1] and k[-2] == v[-2],
        f"q is {text(q)}, k {text(k)} and v {text(v)}, expected (..., queries, d), (..., keys, d) and (..., keys, columns)")  # fmt: skip
    return [Spec((*q[:-1], v[-1]), inputs[0].dtype)]


def _dropout(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    fit(op, inputs[1] == Spec((2,), "uint64"), f"key is {inputs[1]}, expected {Spec((2,), 'uint64')}")
    if not 0 <= attrs["p"] <= 1:
        raise GraphError(f"{op}: p is {attrs['p']}, expected a probability from 0 to 1")
    return [inputs[0]]


def _adam(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    p, g, m, v, scalars = inputs
    moments = Spec(p.shape, "float64" if p.dtype == "float64" else "float32")
    for name, one, wanted in (("g", g, p), ("m", m, moments), ("v", v, moments), ("scalars", scalars, Spec((3,), "float32"))):
        _expect(op, name, one, wanted, p)
    return [p, m, v]


def _sgd(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    p, g, velocity, rate = inputs
    for name, one, wanted in (("g", g, p), ("velocity", velocity, p), ("rate", rate, Spec((1,), "float32"))):
        _expect(op, name, one, wanted, p)
    return [p, velocity]


def _expect(op: str, name: str, one: Spec, wanted: Spec, p: Spec) -> None:
    fit(op, one.shape == wanted.shape, f"{name} is {text(one.shape)}, expected {text(wanted.shape)}: p is {p}")
    if one.dtype != wanted.dtype:
        raise DTypeError(f"{op}: {name} is {one.dtype}, expected {wanted.dtype}: p is {p}")


def _given(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    raise GraphError(f"{op}: the outputs do not follow from the inputs; give outputs=")


def _rms_bwd(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x, weight, dy = inputs
    _rows(op, [x, weight], attrs)
    _like(op, [x, dy], attrs)
    return [x, weight]


def _attention_bwd(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    made = _attention(op, inputs[:3], attrs)[0]
    fit(op, inputs[3] == made, f"dy is {inputs[3]}, expected {made}")
    return list(inputs[:3])


def _reduce_bwd(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x, dy = inputs
    axis = axis_of(op, attrs["axis"], x.shape)
    kept = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    dropped = _reduce(op, [x], attrs)[0].shape
    fit(op, dy.shape in (kept, dropped), f"dy is {text(dy.shape)}, expected {text(dropped)} or {text(kept)}: x, {text(x.shape)}, without its axis {axis}")
    return [x]


def _counted(op: str, image: Sequence[int], kernel: Sequence[int], attrs: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the number of windows, down and across."""
    made = []
    for axis, size, taps in zip(("rows", "columns"), image, kernel):
        pad, stride = attrs.get("pad_" + axis, 0), attrs["stride_" + axis] or attrs.get("kernel_" + axis, 0)
        fit(op, taps >= 1 and stride >= 1 and pad >= 0, f"a kernel of {taps} {axis}, stride {stride} and padding {pad}: expected 1, 1 and 0 at least")
        made.append(max(0, (size + 2 * pad - taps) // stride + 1))
    return made[0], made[1]


def _conv(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x, w = inputs
    fit(op, len(x.shape) == 4 and len(w.shape) == 4 and x.shape[1] == w.shape[1],
        f"x is {text(x.shape)} and w {text(w.shape)}, expected (images, channels, rows, columns) and (out, channels, rows, columns)")  # fmt: skip
    return [Spec((x.shape[0], w.shape[0], *_counted(op, x.shape[2:], w.shape[2:], attrs)), x.dtype)]


def _pool(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    x = inputs[0]
    fit(op, len(x.shape) == 4, f"x is {text(x.shape)}, expected (images, channels, rows, columns)")
    return [Spec((*x.shape[:2], *_counted(op, x.shape[2:], (attrs["kernel_rows"], attrs["kernel_columns"]), attrs)), x.dtype)]


def _pool_bwd(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    made = _pool(op, inputs[:1], attrs)[0]
    fit(op, inputs[1] == made, f"dy is {inputs[1]}, expected {made}")
    return [inputs[0]]


def _zero(case: Case) -> list[Array]:
    return [np.zeros(one.shape) for one in PRIMITIVES[case.op].computed(case)]


def _itself(case: Case) -> list[Array]:
    return [np.abs(np.asarray(one, np.float64)) for one in PRIMITIVES[case.op].computed(case)]


def _of_terms(case: Case) -> list[Array]:
    """Returns the same sums of the magnitudes of the operands."""
    return list(PRIMITIVES[case.op].computed(case.replace([np.abs(one) for one in case.arrays])))


def _columns(case: Case) -> int:
    return case.specs[0].shape[-1] if case.specs[0].shape else 1


def _taps(case: Case) -> int:
    return int(case.attrs["kernel_rows"]) * int(case.attrs["kernel_columns"])


def _elementwise(reference: Callable[[Case], Sequence[Array]], scale: Callable[[Case], Sequence[Array]] = _itself,
                 dtypes: tuple[str, ...] = FLOATS, inputs: tuple[str, ...] = ("x",), output: str = "y") -> Primitive:  # fmt: skip
    return Primitive(inputs, (output,), _like, reference, scale, dtypes)


def _arithmetic(reference: Callable[[Case], Sequence[Array]], dtypes: tuple[str, ...] = NUMBERS) -> Primitive:
    return Primitive(("a", "b"), ("y",), _binary, reference, _itself, dtypes)


def _reduction(reference: Callable[[Case], Sequence[Array]], scale: Callable[[Case], Sequence[Array]]) -> Primitive:
    return Primitive(("x",), ("y",), _reduce, reference, scale,
                     accumulate=lambda case: case.specs[0].shape[int(case.attrs["axis"])] if case.specs[0].shape else 1)  # fmt: skip


ANY = tuple(op_dtype for op_dtype in of.DTYPES)
PRIMITIVES: dict[str, Primitive] = {
    "add": _arithmetic(of.add),
    "sub": _arithmetic(of.sub),
    "mul": _arithmetic(of.mul),
    "div": _arithmetic(of.div, FLOATS),
    "vector_add": _elementwise(of.add, inputs=("a", "b")),
    "bias_add": Primitive(("x", "bias"), ("y",), _rows, of.add, _itself),
    "relu": _elementwise(of.relu, _zero),
    "relu_bwd": _elementwise(of.relu_bwd, _zero, inputs=("x", "dy"), output="dx"),
    "gelu": _elementwise(of.gelu, of.gelu_scale),
    "silu": _elementwise(of.silu, of.silu_scale),
    "sigmoid": _elementwise(of.sigmoid, of.sigmoid_scale),
    "tanh": _elementwise(of.tanh),
    "softmax": Primitive(("x",), ("y",), _rows, of.softmax, of.softmax_scale, accumulate=_columns),
    "layernorm": Primitive(("x", "weight", "bias"), ("y",), _rows, of.layernorm, of.layernorm_scale, accumulate=_columns),
    "layernorm_bwd": Primitive(("x", "weight", "dy"), ("dx", "dweight", "dbias"), _rows_bwd, of.layernorm_bwd, of.layernorm_bwd_scale,
                               accumulate=lambda case: max(case.specs[0].shape[-1], case.specs[0].elements // max(1, case.specs[0].shape[-1]))),
    "rmsnorm": Primitive(("x", "weight"), ("y",), _rows, of.rmsnorm, _itself, accumulate=_columns),
    "gemm": Primitive(("a", "b"), ("c",), _gemm, of.gemm, _of_terms,
                      accumulate=lambda case: case.specs[0].shape[0 if case.attrs["trans_a"] else 1]),
    "matmul": Primitive(("a", "b"), ("c",), _matmul, of.matmul, _of_terms, accumulate=lambda case: case.specs[0].shape[1]),
    "linear_bwd": Primitive(("x", "w", "dy"), ("dx", "dw", "dbias"), _linear_bwd, of.linear_bwd, _of_terms,
                            accumulate=lambda case: max(case.specs[2].shape)),
    "transpose": Primitive(("x",), ("y",), _transpose, of.transpose, _zero),
    "reduce_sum": _reduction(of.reduce_sum, _of_terms),
    "reduce_mean": _reduction(of.reduce_mean, _of_terms),
    "reduce_max": _reduction(of.reduce_max, _zero),
    "mse": Primitive(("x", "target"), ("loss",), _scalar, of.mse, _itself, accumulate=lambda case: case.specs[0].elements),
    "mse_grad": _elementwise(of.mse_grad, inputs=("x", "target"), output="dx"),
    "cross_entropy": Primitive(("x", "target"), ("loss",), _row_targets, of.cross_entropy, of.cross_entropy_scale, same=(0,), accumulate=_columns),
    "cross_entropy_grad": Primitive(("x", "target", "dloss"), ("dx",), _row_targets_bwd, of.cross_entropy_grad, of.cross_entropy_grad_scale,
                                    same=(0, 2), accumulate=_columns),
    "attention": Primitive(("q", "k", "v"), ("y",), _attention, of.attention, of.attention_scale,
                           accumulate=lambda case: max(case.specs[1].shape[-2:])),
    "embedding": Primitive(("table", "index"), ("y",), _gather, of.gather, _zero, ANY, same=(0,)),
    "embedding_bwd": Primitive(("index", "dy"), ("dtable",), _given, of.embedding_bwd, of.embedding_bwd_scale, INDICES, same=(0,),
                               accumulate=lambda case: case.specs[0].elements),
    "gather": Primitive(("x", "index"), ("y",), _gather, of.gather, _zero, ANY, same=(0,)),
    "gelu_bwd": _elementwise(back.gelu_bwd, back.gelu_bwd_scale, inputs=("x", "dy"), output="dx"),
    "silu_bwd": _elementwise(back.silu_bwd, back.silu_bwd_scale, inputs=("x", "dy"), output="dx"),
    "sigmoid_bwd": _elementwise(back.sigmoid_bwd, back.sigmoid_bwd_scale, inputs=("y", "dy"), output="dx"),
    "tanh_bwd": _elementwise(back.tanh_bwd, back.tanh_bwd_scale, inputs=("y", "dy"), output="dx"),
    "softmax_bwd": Primitive(("y", "dy"), ("dx",), _like, back.softmax_bwd, back.softmax_bwd_scale, accumulate=_columns),
    "rmsnorm_bwd": Primitive(("x", "weight", "dy"), ("dx", "dweight"), _rms_bwd, back.rmsnorm_bwd, back.rmsnorm_bwd_scale,
                             accumulate=lambda case: max(case.specs[0].shape[-1], case.specs[0].elements // max(1, case.specs[0].shape[-1]))),
    "reduce_max_bwd": Primitive(("x", "dy"), ("dx",), _reduce_bwd, back.reduce_max_bwd, _zero),
    "attention_bwd": Primitive(("q", "k", "v", "dy"), ("dq", "dk", "dv"), _attention_bwd, back.attention_bwd, back.attention_bwd_scale,
                               accumulate=lambda case: sum(one.shape[-2] + one.shape[-1] for one in case.specs[:2]) + case.specs[2].shape[-1]),
    "gather_bwd": Primitive(("index", "dy"), ("dx",), _given, back.gather_bwd, back.gather_bwd_scale, INDICES, same=(0,),
                            accumulate=lambda case: case.specs[0].elements),
    "conv2d": Primitive(("x", "w"), ("y",), _conv, image.conv2d, _of_terms, accumulate=lambda case: math.prod(case.specs[1].shape[1:])),
    "conv2d_bwd_x": Primitive(("w", "dy"), ("dx",), _given, image.conv2d_bwd_x, _of_terms,
                              accumulate=lambda case: math.prod(case.specs[0].shape) // max(1, case.specs[0].shape[1])),
    "conv2d_bwd_w": Primitive(("x", "dy"), ("dw",), _given, image.conv2d_bwd_w, _of_terms,
                              accumulate=lambda case: math.prod(case.specs[1].shape) // max(1, case.specs[1].shape[1])),
    "max_pool2d": Primitive(("x",), ("y",), _pool, image.max_pool2d, _zero),
    "max_pool2d_bwd": Primitive(("x", "dy"), ("dx",), _pool_bwd, image.max_pool2d_bwd, image.max_pool2d_bwd_scale, accumulate=_taps),
    "avg_pool2d": Primitive(("x",), ("y",), _pool, image.avg_pool2d, _of_terms, accumulate=_taps),
    "avg_pool2d_bwd": Primitive(("dy",), ("dx",), _given, image.avg_pool2d_bwd, _of_terms, accumulate=_taps),
    "fill": Primitive((), ("y",), _given, back.fill, _zero, ANY),
    "random_fill": Primitive(("state",), ("y",), _given, None, None, ("uint64",)),
    "dropout": Primitive(("x", "key"), ("y",), _dropout, of.dropout, _itself, same=(0,)),
    "cast": Primitive(("x",), ("y",), _given, of.cast, _zero, ANY),
    "copy": _elementwise(of.copy, _zero, ANY),
    "copy_saved": _elementwise(of.copy, _zero, ANY, output="saved"),
    "adam_step": Primitive(("p", "g", "m", "v", "scalars"), ("p_out", "m_out", "v_out"), _adam, of.adam_step, of.adam_step_scale, same=(0, 1)),
    "sgd_step": Primitive(("p", "g", "velocity", "rate"), ("p_out", "velocity_out"), _sgd, of.sgd_step, of.sgd_step_scale, same=(0, 1, 2)),
}  # fmt: skip


def find(op: str) -> Primitive | None:
    """The row of a built-in or registered op; None if there is none of this name."""
    return PRIMITIVES.get(op) or registered.find(op)


def row(op: str) -> Primitive:
    """The row of a built-in or registered op. Raises GraphError for an unknown op."""
    found = find(op)
    if found is None:
        raise unknown_op(op, (*PRIMITIVES, *registered.names()))
    return found


@functools.lru_cache(maxsize=None)
def _built_in_fields(op: str) -> dict[str, int | float]:
    made = getattr(op_attributes, op, None)
    return {} if made is None else {name: one.default for name, one in inspect.signature(made).parameters.items()}


def fields(op: str) -> Mapping[str, int | float | None]:
    """The attributes of an op and their defaults; None: no default."""
    return _built_in_fields(op) if op in PRIMITIVES else registered.fields(op)


def attributes(op: str, given: Mapping[str, Any]) -> dict[str, int | float]:
    """All attributes of a call, with defaults filled in. Raises GraphError for an unknown or missing attribute."""
    known = fields(op)
    for name in given:
        if name not in known:
            raise GraphError(f"{op} has no attribute '{name}'; it has {', '.join(known) or 'none'}")
    if op not in PRIMITIVES:
        return registered.attributes(op, given)
    whole = {name: type(default)(given.get(name, default)) for name, default in _built_in_fields(op).items()}
    for name in known:  # A float64 tensor uses the exact number, which may not be a float32.
        if name + "_double" in known and name in given and name + "_double" not in given:
            whole[name + "_double"] = whole[name]
    return whole


def packed(op: str, attrs: Mapping[str, Any]) -> tuple[int, bytes]:
    """Returns the schema and the bytes of attributes for the C interface."""
    if op not in PRIMITIVES:
        return registered.packed(op, attrs)
    made = getattr(op_attributes, op, None)
    return (0, b"") if made is None else made(**attrs)


def infer(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    """The specs of an op's outputs. Raises GraphError, ShapeError or DTypeError for inputs that do not fit."""
    insist(op, inputs)
    return row(op).infer(op, inputs, attrs)


def infers(op: str) -> bool:
    """True if the outputs of an op follow from its inputs."""
    return row(op).infer is not _given if op in PRIMITIVES else registered.infers(op)


def insist(op: str, inputs: Sequence[Spec]) -> None:
    """Checks number and dtypes of the inputs."""
    of_op = row(op)
    if len(inputs) != len(of_op.inputs):
        raise GraphError(f"{op} takes {len(of_op.inputs)} inputs ({', '.join(of_op.inputs)}), {len(inputs)} are given")
    if op not in PRIMITIVES:
        return registered.insist(op, inputs)
    if not inputs:
        return
    first = inputs[0]
    if first.dtype not in of_op.dtypes:
        raise DTypeError(f"{op}: {of_op.inputs[0]} is {first.dtype}, expected {', '.join(of_op.dtypes)}")
    for i in range(1, len(inputs)):
        if op in ("adam_step", "sgd_step") or (of_op.same is not None and i not in of_op.same):
            continue
        if inputs[i].dtype != first.dtype:
            raise DTypeError(f"{op}: {of_op.inputs[0]} is {first.dtype} and {of_op.inputs[i]} {inputs[i].dtype}; expected one dtype, cast one of them")


def compute(op: str, inputs: Sequence[Array], specs: Sequence[Spec], outputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Array]:
    """The reference's outputs, not rounded: float64 for floats. inputs: as specs.wide returns them. Raises BackendError for an op
    without a reference."""
    of_op = row(op)
    if of_op.reference is None:
        raise BackendError(f"{op} has no reference: pass reference= to register_op, or run the op on a device, which needs none")
    with np.errstate(all="ignore"):
        made = of_op.reference(Case(op, list(inputs), list(specs), list(outputs), dict(attrs)))
    return [np.broadcast_to(np.asarray(one), spec.shape) for one, spec in zip(made, outputs, strict=True)]
