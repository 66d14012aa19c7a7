"""Lets programs use, run and judge ops that runtime.register_op added."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import gpuemu.runtime.calling as calling
import gpuemu.runtime.registrations as registrations
from gpuemu.program.errors import DTypeError, GraphError, ShapeError, unknown_op
from gpuemu.program.ops.primitive import Primitive, Reference
from gpuemu.program.ops.references import Case
from gpuemu.program.specs import Spec, text
from gpuemu.runtime.registrations import Entry, TensorSpec
from gpuemu.tensors import Array


def names() -> list[str]:
    """Names of the registered ops."""
    return registrations.op_names()


def find(op: str) -> Primitive | None:
    """The row of a registered op; None if there is none of this name."""
    entry = registrations.op_named(op)
    if entry is None:
        return None
    scale = None if entry.reference is None else _called(entry, "error_scale", entry.error_scale)
    return Primitive(*entry.operands, functools.partial(_infer, entry), _called(entry, "reference", entry.reference), scale)


def number(op: str) -> int:
    """The number of the op's registration; 0 for a built-in op."""
    entry = registrations.op_named(op)
    return 0 if entry is None else entry.number


def _entry(op: str) -> Entry:
    entry = registrations.op_named(op)
    if entry is None:
        raise unknown_op(op, names(), "its registration was removed")
    return entry


def infers(op: str) -> bool:
    """True if the op was registered with infer=."""
    return _entry(op).infer is not None


def fields(op: str) -> Mapping[str, int | float | None]:
    """The attributes and their defaults; None: no default."""
    return _entry(op).fields


def attributes(op: str, given: Mapping[str, Any]) -> dict[str, int | float]:
    """All attributes of a call as int or float, with defaults filled in. Raises GraphError for a missing or unsuitable value."""
    made: dict[str, int | float] = {}
    for name, dtype, default in _entry(op).described["schema"]:
        value = given.get(name, default)
        if value is None:
            raise GraphError(f"{op} needs the attribute '{name}', a {dtype}")
        if isinstance(value, str) or not (hasattr(value, "__float__") or hasattr(value, "__index__")):
            raise GraphError(f"{op}: attribute '{name}' is {value!r}, expected a {dtype}")
        if "int" in dtype and int(value) != value:
            raise GraphError(f"{op}: attribute '{name}' is {value!r}, expected a whole number ({dtype})")
        made[name] = int(value) if "int" in dtype else float(value)
    return made


def packed(op: str, attrs: Mapping[str, Any]) -> tuple[int, bytes]:
    """The schema id and the bytes of the attributes, as the C interface takes them."""
    return calling.pack(op, attrs) if _entry(op).fields else (0, b"")


def insist(op: str, inputs: Sequence[Spec]) -> None:
    """Raises ShapeError for an input of the wrong rank, DTypeError for inputs of one type letter with several dtypes."""
    declared, by_letter = calling.op_info(op).inputs, dict[str, tuple[str, str]]()
    for operand, one in zip(declared, inputs):
        if not operand.rank_min <= len(one.shape) <= operand.rank_max:
            ranks = f"{operand.rank_min}" if operand.rank_min == operand.rank_max else f"{operand.rank_min} to {operand.rank_max}"
            raise ShapeError(f"{op}: {operand.name} is {text(one.shape)}, expected {ranks} axes")
        name, dtype = by_letter.setdefault(operand.type, (operand.name, one.dtype))
        if dtype != one.dtype:
            raise DTypeError(f"{op}: {name} is {dtype} and {operand.name} {one.dtype}; expected one dtype, cast one of them")


def _infer(entry: Entry, op: str, inputs: Sequence[Spec], attrs: Mapping[str, Any]) -> list[Spec]:
    if entry.infer is None:
        raise GraphError(f"{op}: cannot infer the outputs: pass outputs=, or register the op with infer=")
    try:
        made = entry.infer(*[TensorSpec(one.shape, None, one.dtype) for one in inputs], **attrs)
    except (ValueError, IndexError, AssertionError) as problem:
        raise ShapeError(f"{op}: {problem} (infer of the op, for {', '.join(str(one) for one in inputs)})") from problem
    if not isinstance(made, Sequence) or len(made) != len(entry.operands[1]) or not all(isinstance(one, TensorSpec) for one in made):
        raise GraphError(f"{op}: infer of the op gives {made!r}, expected a list of {len(entry.operands[1])} TensorSpec")
    return [Spec(tuple(one.shape), one.dtype) for one in made]


def _called(entry: Entry, what: str, function: Callable[..., Any] | None) -> Reference | None:
    """Wraps a function of the registration to take a Case. The function gets copies of the arrays, which it may change."""
    if function is None:
        return None

    def computed(case: Case) -> list[Array]:
        given = {name: array.copy() for name, array in zip(entry.operands[0], case.arrays)}
        return _by_output(entry, what, function(**given, **case.attrs), case.outputs)

    return computed


def _by_output(entry: Entry, what: str, made: Any, outputs: Sequence[Spec]) -> list[Array]:
    names = entry.operands[1]
    if isinstance(made, Mapping):
        missing = [name for name in names if name not in made]
        if missing:
            raise GraphError(f"{entry.op}: the {what} of the op gives no '{missing[0]}', its outputs are {', '.join(names)}")
        parts = [made[name] for name in names]
    else:
        parts = [made] if len(names) == 1 else list(made)
    if len(parts) != len(names):
        raise GraphError(f"{entry.op}: the {what} of the op gives {len(parts)} arrays, expected {len(names)}: {', '.join(names)}")
    arrays = [np.asarray(one) for one in parts]
    for name, array, spec in zip(names, arrays, outputs):
        if array.shape != spec.shape and not (what == "error_scale" and array.ndim == 0):
            raise GraphError(f"{entry.op}: the {what} of the op gives {name} as {text(array.shape)}, expected {text(spec.shape)}")
    return arrays
