"""The fused op: several elementwise ops in one kernel, which is generated and registered when the graph is lowered.

Attributes: `parts` lists [op, shape, operands] for each op, where an operand is ["in", number, shape] for an input, ["part",
number] for an earlier part, or ["const", value]. `results` lists the parts that are outputs, and `shapes` their shapes. All parts
have the same number of elements.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import gpuemu.program.ops.primitives as primitives
import gpuemu.runtime.registering as registering
import gpuemu.runtime.registrations as registrations
from gpuemu.program.errors import GraphError
from gpuemu.program.ops.device_code import ELEMENTWISE, HEADER, ROUNDED
from gpuemu.program.ops.emitter import Emitter, Ref
from gpuemu.program.ops.primitives import fit
from gpuemu.program.ops.references import Case
from gpuemu.program.specs import FLOATS, Spec, rounded, wide
from gpuemu.tensors import Array

KIND = "fused"
BLOCK = 256
STEP = 2.0**-30  # Relative size of the change that measures how an error in a part reaches the outputs.
# Rounding error of an element between two parts, relative to that of the type in which parts compute.
HALF = {"float16": 2.0**13, "bfloat16": 2.0**16, "float32": 1.0, "float64": 1.0}
_lock = threading.Lock()


def infer(op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    """The outputs of the fused op. Raises GraphError for invalid parts, which a graph read from JSON may have."""
    fit(op, bool(inputs) and all(one.dtype == inputs[0].dtype and one.dtype in FLOATS for one in inputs), "expected inputs of one float dtype")
    try:
        _insist(attrs, len(inputs))
    except (ValueError, TypeError, KeyError, IndexError) as problem:
        raise GraphError(f"{op}: the parts are invalid: {type(problem).__name__}: {problem}") from None
    return [Spec(tuple(shape), inputs[0].dtype) for shape in attrs["shapes"]]


def _insist(attrs: Mapping[str, Any], inputs: int) -> None:
    elements = math.prod(attrs["parts"][0][1])
    for number, (op, shape, operands) in enumerate(attrs["parts"]):
        if len(operands) != len(primitives.PRIMITIVES[op].inputs) or op not in ELEMENTWISE or not _is_shape(shape) or math.prod(shape) != elements:
            raise ValueError(f"part {number}, {op}, has {len(operands)} operands and the shape {shape}")
        for kind, value, *rest in operands:
            limit = {"in": inputs, "part": number, "const": None}[kind]
            if limit is None and not isinstance(value, float):
                raise ValueError(f"part {number} has the constant {value!r}")
            if limit is not None and (not isinstance(value, int) or not 0 <= value < limit):
                raise ValueError(f"part {number} reads {kind} {value!r} of {limit}")
            if kind == "in" and not (_is_shape(rest[0]) and (math.prod(rest[0]) == elements or np.broadcast_shapes(tuple(rest[0]), tuple(shape)) == tuple(shape))):
                raise ValueError(f"part {number} reads an input as {rest[0]}")
    if len(attrs["results"]) != len(attrs["shapes"]) or not attrs["results"]:
        raise ValueError("results and shapes differ in length, or are empty")
    for part, shape in zip(attrs["results"], attrs["shapes"]):
        if not _is_shape(shape) or math.prod(shape) != elements or not 0 <= part < len(attrs["parts"]):
            raise ValueError(f"the result {part} has the shape {shape}")


def _is_shape(shape: Any) -> bool:
    return isinstance(shape, list) and all(isinstance(size, int) and size >= 0 for size in shape)


def lower(e: Emitter, x: Sequence[Ref], attrs: Mapping[str, Any], outs: Sequence[Spec]) -> list[Ref]:
    """Calls the generated op."""
    return e.op(registered(attrs, [one.spec for one in x]), x, None, outs)


def registered(attrs: Mapping[str, Any], inputs: Sequence[Spec]) -> str:
    """The name of the generated op, which is registered on first use. Equal parts and inputs share one op."""
    told = json.dumps([attrs["parts"], attrs["results"], attrs["shapes"], [[list(one.shape), one.dtype] for one in inputs]])
    ops = "_".join(part[0] for part in attrs["parts"][:3]) + ("_more" if len(attrs["parts"]) > 3 else "")
    name = f"fused_{ops}_{hashlib.blake2b(told.encode(), digest_size=5).hexdigest()}"
    with _lock:
        if registrations.op_named(name) is None:
            _register(name, attrs, inputs)
    return name


def _register(name: str, attrs: Mapping[str, Any], inputs: Sequence[Spec]) -> None:
    outs = infer(name, inputs, attrs)
    ins, results = [f"x{i}" for i in range(len(inputs))], [f"y{i}" for i in range(len(outs))]

    def reference(**given: Array) -> dict[str, Array]:
        return dict(zip(results, _outputs(attrs, _values(attrs, list(given.values())))))

    def error_scale(**given: Array) -> dict[str, Array]:
        return dict(zip(results, _scales(attrs, list(given.values()), inputs[0].dtype)))

    made = registering.register_op(
        name, [f"{one}: T" for one in ins], [f"{one}: T" for one in results], reference=reference, error_scale=error_scale,
        infer=lambda *specs: [registrations.TensorSpec(one.shape, None, one.dtype) for one in outs],
        summary=f"{', '.join(part[0] for part in attrs['parts'])} elementwise, in one kernel")  # fmt: skip
    launch = registering.Launch("fused", f"max(1, min(4096, cdiv(y0.count, {BLOCK})))", BLOCK, [*ins, *results, "i64:y0.count"])
    try:
        registering.register_kernel(name, "generated", source(attrs, inputs), [launch], types={"T": [inputs[0].dtype]})
    except Exception:
        made.remove()
        raise


# --- the kernel


def source(attrs: Mapping[str, Any], inputs: Sequence[Spec]) -> str:
    """CUDA C++ of a kernel that rounds every part as the kernel of that op alone does."""
    element, narrow, compute = ROUNDED[inputs[0].dtype]
    parts = attrs["parts"]
    code = list(dict.fromkeys(piece for part in parts for piece in ELEMENTWISE[part[0]][1]))
    params = [f"const {element}* x{i}" for i in range(len(inputs))] + [f"{element}* y{i}" for i in range(len(attrs["results"]))]
    lines = [f"extern \"C\" __global__ void fused({', '.join([*params, 'long long n'])}) {{",
             "  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;",
             "  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) {"]  # fmt: skip
    for number, (op, shape, operands) in enumerate(parts):
        given = ", ".join(_operand(one, shape, compute) for one in operands)
        lines.append(f"    const {element} p{number} = {narrow}({ELEMENTWISE[op][0]}()({given}));  // {op}")
    lines += [f"    y{at}[i] = p{part};" for at, part in enumerate(attrs["results"])]
    return HEADER + "".join(code) + "\n" + "\n".join([*lines, "  }", "}"]) + "\n"


def _operand(one: Sequence[Any], shape: Sequence[int], compute: str) -> str:
    if one[0] == "part":
        return f"widen(p{one[1]})"
    if one[0] == "const":
        return f"{compute}({_literal(one[1])})"
    return f"widen(x{one[1]}[{_index(one[2], shape)}])"


def _literal(value: float) -> str:
    if math.isfinite(value):
        return float(value).hex()
    return "NAN" if math.isnan(value) else "INFINITY" if value > 0 else "-INFINITY"


def _index(given: Sequence[int], shape: Sequence[int]) -> str:
    """The index expression of an operand for element i of the part: i, or the index that broadcasting gives."""
    if math.prod(given) == math.prod(shape):
        return "i"
    whole = [1] * (len(shape) - len(given)) + list(given)
    terms, below, stride = [], 1, 1
    for axis in range(len(shape) - 1, -1, -1):
        if whole[axis] != 1:
            at = f"i / {below}" if below > 1 else "i"
            at = f"{at} % {shape[axis]}" if axis > 0 and math.prod(shape[:axis]) > 1 else at
            terms.append(f"({at}) * {stride}" if stride > 1 else f"({at})")
        below, stride = below * shape[axis], stride * whole[axis]
    return " + ".join(terms) or "0"


# --- the references


def _values(attrs: Mapping[str, Any], given: Sequence[Array], shift: Mapping[int, Array] | None = None) -> list[Array]:
    """The unrounded values of all parts, computed by the references of their ops. shift: offsets to add to parts, by number."""
    made: list[Array] = []
    for number, (op, shape, operands) in enumerate(attrs["parts"]):
        case = _case(op, shape, operands, given, made)
        with np.errstate(all="ignore"):
            value = np.broadcast_to(np.asarray(primitives.PRIMITIVES[op].computed(case)[0], np.float64), tuple(shape))
        made.append(value if shift is None or number not in shift else value + shift[number])
    return made


def _case(op: str, shape: Sequence[int], operands: Sequence[Any], given: Sequence[Array], made: Sequence[Array]) -> Case:
    arrays = []
    for one in operands:
        if one[0] == "const":
            arrays.append(np.full((), one[1], np.float64))
        elif one[0] == "in":
            arrays.append(np.asarray(given[one[1]], np.float64).reshape(one[2]))
        else:
            arrays.append(made[one[1]].reshape(shape))
    specs = [Spec(array.shape, "float64") for array in arrays]
    return Case(op, arrays, specs, [Spec(tuple(shape), "float64")], {})


def _outputs(attrs: Mapping[str, Any], values: Sequence[Array]) -> list[Array]:
    return [values[part].reshape(shape) for part, shape in zip(attrs["results"], attrs["shapes"])]


def _scales(attrs: Mapping[str, Any], given: Sequence[Array], dtype: str) -> list[Array]:
    """Error scales of the outputs: the error each part may make, times how a small change of that part moves each output."""
    values = _values(attrs, given)
    totals = [np.zeros(one.shape) for one in _outputs(attrs, values)]
    exact = _outputs(attrs, values)
    with np.errstate(all="ignore"):
        for number, (op, shape, operands) in enumerate(attrs["parts"]):
            own = np.asarray(primitives.PRIMITIVES[op].scale(_case(op, shape, operands, given, values))[0])  # type: ignore[misc]
            size = np.nan_to_num(np.broadcast_to(own, tuple(shape)) + np.abs(values[number]), nan=0.0, posinf=0.0)
            for way in (STEP, -STEP):
                moved = _outputs(attrs, _values(attrs, given, {number: way * size}))
                for at, (one, base) in enumerate(zip(moved, exact)):
                    factor = 1.0 if attrs["results"][at] == number else HALF[dtype]
                    totals[at] = np.maximum(totals[at], 0) + factor * np.nan_to_num(np.abs(one - base) / STEP, nan=0.0, posinf=0.0) / 2
    return totals


def elementwise(dtype: str, emitted: Sequence[Any]) -> bool:
    """True if all calls can be parts: known elementwise ops, with operands of this float dtype."""
    return dtype in FLOATS and all(one.op in ELEMENTWISE and all(ref.dtype == dtype for ref in (*one.inputs, *one.outputs)) for one in emitted)


def constant_value(array: Array, dtype: str) -> float:
    """The number of a one-element constant, rounded to the dtype."""
    return float(wide(rounded(wide(array, dtype), dtype), dtype).reshape(()))
