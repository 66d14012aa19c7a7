"""The ops of the IR: each row has the shapes of the outputs, the lowering, and the gradient."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gpuemu.program.ops.fused as fused
import gpuemu.program.ops.registered as registered
import gpuemu.program.ops.gradients as grad
import gpuemu.program.ops.lowerings as low
import gpuemu.program.ops.primitives as primitives
from gpuemu.program.ops.emitter import Emitter, Ref
from gpuemu.program.errors import DTypeError, GraphError, unknown_op
from gpuemu.program.ops.primitives import NUMBERS, fit
from gpuemu.program.specs import FLOATS, Spec, broadcast, spec_list, text

Attrs = Mapping[str, Any]
Infer = Callable[[str, Sequence[Spec], Attrs], list[Spec]]
Lower = Callable[[Emitter, Sequence[Ref], Attrs, Sequence[Spec]], list[Ref]]
Gradient = Callable[[grad.Backward], "list[Any]"]


@dataclass(frozen=True)
class Rule:
    """infer: returns the outputs for checked operands. lower: None if the op is a built-in op of the same name. gradient: None if
    there is none. needs: the values that the gradient reads, "i" inputs, "o" outputs; of the others it uses only the shape."""

    infer: Infer
    lower: Lower | None = None
    gradient: Gradient | None = None
    needs: str = "i"


def _floats(op: str, inputs: Sequence[Spec], dtypes: Sequence[str] = FLOATS) -> Spec:
    """Returns the first input after checking that all have one dtype, one of these."""
    for one in inputs:
        if one.dtype != inputs[0].dtype:
            raise DTypeError(f"{op}: the operands are {inputs[0].dtype} and {one.dtype}; expected one dtype, cast one of them")
    if inputs[0].dtype not in dtypes:
        raise DTypeError(f"{op}: the operand is {inputs[0].dtype}, expected {', '.join(dtypes)}")
    return inputs[0]


def _built_in(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    return primitives.infer(op, inputs, primitives.attributes(op, attrs))


def _neg(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    return [_floats(op, inputs, NUMBERS)]


def _unary(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    return [_floats(op, inputs)]


def _second(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    fit(op, inputs[0].shape == inputs[1].shape, f"the operands are {text(inputs[0].shape)} and {text(inputs[1].shape)}, expected one shape")
    return [_floats(op, inputs)]


def _softmax(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    fit(op, len(inputs[0].shape) > 0, "x has no axis, expected one or more")
    return [_floats(op, inputs)]


def _reduce(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    x, axis = _floats(op, inputs), attrs["axis"]
    kept = [1 if axis is None or i == axis else size for i, size in enumerate(x.shape)]
    if not attrs["keepdims"]:
        kept = [] if axis is None else kept[:axis] + kept[axis + 1 :]
    return [Spec(tuple(kept), x.dtype)]


def _linear(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    x, w = _floats(op, inputs), inputs[1]
    fit(op, len(x.shape) == 2 and len(w.shape) == 2 and x.shape[1] == w.shape[1],
        f"x is {text(x.shape)} and w {text(w.shape)}, expected (rows, in) and (out, in)")  # fmt: skip
    for b in inputs[2:]:
        fit(op, b.shape == w.shape[:1], f"b is {text(b.shape)}, expected {text(w.shape[:1])}: w is {text(w.shape)}")
    return [Spec((x.shape[0], w.shape[0]), x.dtype)]


def _matmul(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    _floats(op, inputs)
    return primitives.PRIMITIVES["matmul"].infer(op, inputs, attrs)


def _reshape(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    made = Spec(tuple(attrs["shape"]), inputs[0].dtype)
    fit(op, made.elements == inputs[0].elements, f"x is {text(inputs[0].shape)} with {inputs[0].elements} elements, {text(made.shape)} has {made.elements}")
    return [made]


def _expand(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    x, wanted = _floats(op, inputs, NUMBERS), Spec(tuple(attrs["shape"]), inputs[0].dtype)
    fit(op, broadcast(op, x, wanted) == wanted.shape, f"x is {text(x.shape)}, which does not broadcast to {text(wanted.shape)}")
    return [wanted]


def _scalar_loss(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    primitives.infer(op, inputs, {})
    return [Spec((), inputs[0].dtype)]


def _given_shape(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    return [Spec(tuple(attrs["shape"]), inputs[-1].dtype)]


def _cast(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    return [Spec(inputs[0].shape, attrs["dtype"])]


def _all_but_last(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    return list(inputs[:-1])


def _conv2d(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    x, w = _floats(op, inputs), inputs[1]
    fit(op, len(x.shape) == 4 and len(w.shape) == 4 and x.shape[1] == w.shape[1],
        f"x is {text(x.shape)} and w {text(w.shape)}, expected (images, channels, rows, columns) and (out, channels, rows, columns)")  # fmt: skip
    for b in inputs[2:]:
        fit(op, b.shape == w.shape[:1], f"b is {text(b.shape)}, expected {text(w.shape[:1])}: w is {text(w.shape)}")
    return [Spec((x.shape[0], w.shape[0], *_outputs(op, x.shape, w.shape[2:], attrs)), x.dtype)]


def _pool2d(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    x = _floats(op, inputs)
    fit(op, len(x.shape) == 4, f"x is {text(x.shape)}, expected (images, channels, rows, columns)")
    return [Spec((*x.shape[:2], *_outputs(op, x.shape, attrs["kernel"], attrs)), x.dtype)]


def _outputs(op: str, image: Sequence[int], kernel: Sequence[int], attrs: Attrs) -> tuple[int, int]:
    fit(op, min(kernel) >= 1, f"the kernel is {text(kernel)}, expected 1 or more")
    padding = attrs.get("padding", (0, 0))
    made = [(size + 2 * pad - taps) // stride + 1 for size, taps, stride, pad in zip(image[2:], kernel, attrs["stride"], padding)]
    fit(op, min(made) >= 1, f"a kernel of {text(kernel)} does not fit into {text(image)} with padding {text(attrs.get('padding', (0, 0)))}")
    return made[0], made[1]


def _first(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    return [_floats(op, inputs)]


def _arithmetic(gradient: Gradient, needs: str) -> Rule:
    return Rule(_built_in, None, gradient, needs)


RULES: dict[str, Rule] = {
    "add": _arithmetic(grad.add, ""),
    "sub": _arithmetic(grad.sub, ""),
    "mul": _arithmetic(grad.mul, "i"),
    "div": _arithmetic(grad.div, "i"),
    "neg": Rule(_neg, low.neg, grad.neg, ""),
    "relu": Rule(_unary, None, grad.of_input("relu_bwd")),
    "gelu": Rule(_unary, None, grad.of_input("gelu_bwd")),
    "silu": Rule(_unary, None, grad.of_input("silu_bwd")),
    "sigmoid": Rule(_unary, None, grad.of_output("sigmoid_bwd"), "o"),
    "tanh": Rule(_unary, None, grad.of_output("tanh_bwd"), "o"),
    "gelu_bwd": Rule(_second),
    "silu_bwd": Rule(_second),
    "sigmoid_bwd": Rule(_second),
    "tanh_bwd": Rule(_second),
    "softmax": Rule(_softmax, low.softmax, grad.of_output("softmax_bwd"), "o"),
    "softmax_bwd": Rule(_second, low.softmax_bwd),
    "sum": Rule(_reduce, low.reduction("reduce_sum"), grad.sum, ""),
    "mean": Rule(_reduce, low.reduction("reduce_mean"), grad.mean, ""),
    "max": Rule(_reduce, low.reduction("reduce_max"), grad.max),
    "max_bwd": Rule(_first, low.max_bwd),
    "matmul": Rule(_matmul, low.matmul, grad.matmul),
    "linear": Rule(_linear, low.linear, grad.linear),
    "transpose": Rule(_built_in, None, grad.transpose, ""),
    "reshape": Rule(_reshape, low.reshape, grad.reshape, ""),
    "expand": Rule(_expand, low.expand, grad.expand, ""),
    "mse": Rule(_built_in, None, grad.mse),
    "cross_entropy": Rule(_scalar_loss, low.cross_entropy, grad.cross_entropy),
    "layernorm": Rule(_built_in, None, grad.layernorm),
    "rmsnorm": Rule(_built_in, None, grad.rmsnorm),
    "rmsnorm_bwd": Rule(_all_but_last),
    "conv2d": Rule(_conv2d, low.conv2d, grad.conv2d),
    "conv2d_bwd_x": Rule(_given_shape, low.of_images("conv2d_bwd_x")),
    "conv2d_bwd_w": Rule(_given_shape, low.of_images("conv2d_bwd_w")),
    "max_pool2d": Rule(_pool2d, low.of_images("max_pool2d"), grad.of_input("max_pool2d_bwd")),
    "max_pool2d_bwd": Rule(_first, low.of_images("max_pool2d_bwd")),
    "avg_pool2d": Rule(_pool2d, low.of_images("avg_pool2d"), grad.avg_pool2d, ""),
    "avg_pool2d_bwd": Rule(_given_shape, low.of_images("avg_pool2d_bwd")),
    "attention": Rule(_built_in, None, grad.attention),
    "attention_bwd": Rule(_all_but_last),
    "embedding": Rule(_built_in, None, grad.embedding),
    "embedding_bwd": Rule(_given_shape, low.embedding_bwd),
    "gather": Rule(_built_in, None, grad.gather),
    "gather_bwd": Rule(_given_shape, low.gather_bwd),
    "dropout": Rule(_built_in, low.dropout, grad.dropout),
    "cast": Rule(_cast, low.cast, grad.cast, ""),
    "copy_saved": Rule(_built_in, None, grad.copy, ""),
}
RULES[fused.KIND] = Rule(fused.infer, fused.lower)  # Only the pass fuse creates this op.
DIRECT = ("relu_bwd", "mse_grad", "linear_bwd", "layernorm_bwd", "cross_entropy_grad", "gemm", "adam_step", "sgd_step")
RULES.update({op: Rule(_built_in) for op in DIRECT})
RAW = "op:"  # Prefix of a kind that calls a built-in or registered op directly.


def rule(kind: str) -> Rule:
    """The row of an op. Raises GraphError for an unknown op."""
    if kind in RULES:
        return RULES[kind]
    op = kind.removeprefix(RAW)
    if op == kind or primitives.find(op) is None:
        raise unknown_op(op, (*RULES, *primitives.PRIMITIVES, *registered.names()))
    return Rule(lambda _, inputs, attrs: _as_it_is(op, inputs, attrs))


def _as_it_is(op: str, inputs: Sequence[Spec], attrs: Attrs) -> list[Spec]:
    """The outputs of an op that is called directly: the attribute `outputs` if given, else what the op infers from its inputs."""
    given = attrs.get("outputs")
    whole = primitives.attributes(op, {name: value for name, value in attrs.items() if name != "outputs"})
    if given is None:
        return primitives.infer(op, inputs, whole)
    primitives.insist(op, inputs)
    row, made = primitives.row(op), spec_list(given)
    if len(made) != len(row.outputs):
        raise GraphError(f"{op} has {len(row.outputs)} outputs ({', '.join(row.outputs)}), outputs= has {len(made)}")
    if primitives.infers(op):
        for name, one, follows in zip(row.outputs, made, primitives.infer(op, inputs, whole)):
            fit(op, one == follows, f"outputs= has {one} for {name}, expected {follows}: the op infers its outputs, outputs= can be left out")
    return made


def identity(kind: str) -> tuple[str, int]:
    """A key that is equal for the same op. It has the registration number, because a name can be registered again."""
    return kind, 0 if kind in RULES else registered.number(kind.removeprefix(RAW))


def lower(e: Emitter, kind: str, inputs: Sequence[Ref], attrs: Attrs, outputs: Sequence[Spec]) -> list[Ref]:
    """Writes the built-in ops of one op of the IR and returns its outputs."""
    row = rule(kind)
    if row.lower is not None:
        return row.lower(e, inputs, attrs, outputs)
    return e.op(kind.removeprefix(RAW), inputs, attrs, outputs)
