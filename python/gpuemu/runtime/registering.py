"""Registers ops and kernels of the caller, which op_call finds like the built-in ones."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from gpuemu import dtypes_generated
import gpuemu.runtime.calling as calling
import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
import gpuemu.runtime.registrations as registrations
import gpuemu.runtime.structs as structs
from gpuemu.runtime.device import INT32_MAX, Device
from gpuemu.runtime.registrations import Entry, TensorSpec

_reasons = threading.local()  # The text of the last rejection, which the library reads.


@dataclass(frozen=True, init=False)
class Launch:
    """One launch of a kernel. Sizes are ints or expressions such as "cdiv(x.count, 256)"; args in the order of the entry's
    parameters: "x" for the address of an operand; "i32:x.count", "i64:", "f32:eps", "f64:" for values."""

    entry: str
    grid: tuple[Any, ...]
    block: tuple[Any, ...]
    args: tuple[str, ...]
    shared: Any = 0

    def __init__(self, entry: str, grid: Any, block: Any, args: Sequence[str], *, shared: Any = 0) -> None:
        if not isinstance(entry, str):
            raise TypeError(f"entry is of type {type(entry).__name__}, expected a str")
        _insist_on_texts("args", args)
        for name, value in (("entry", entry), ("grid", _sizes("grid", grid)), ("block", _sizes("block", block)), ("args", tuple(args)),
                            ("shared", _size("shared", shared, 0))):  # fmt: skip
            object.__setattr__(self, name, value)


def _size(name: str, value: Any, least: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is of type {type(value).__name__}, expected an int or a text such as \"cdiv(x.count, 256)\"")
    return str(structs.whole(name, value, 2**63 - 1, least))


def _sizes(name: str, value: Any) -> tuple[str, ...]:
    given = value if isinstance(value, (list, tuple)) else [value]
    if not 1 <= len(given) <= 3:
        raise errors.InvalidArgumentError(f"{name} has {len(given)} sizes, expected 1 to 3")
    return tuple(_size(name, one, 1) for one in given)


class Registration(library.Unique):
    """A registered op or kernel. `with` removes it at its end."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    op = property(lambda self: self._entry.op, doc="The op's name.")
    name = property(lambda self: self._entry.name, doc="Of the kernel; of an op its own.")

    def remove(self) -> None:
        """Removes the registration for later calls; captures that use it stay valid. Removing an op removes its kernels. May be
        called twice."""
        if not library.is_forked():
            registrations.remove(self._entry)

    def compile(self, device: Device) -> None:
        """Compiles the kernel for every combination of its dtypes. Raises CompileError, or InvalidArgumentError for arguments
        that an entry does not have."""
        if not isinstance(device, Device):
            raise TypeError(f"device is of type {type(device).__name__}, expected a Device")
        if not registrations.is_registered(self._entry):
            raise errors.ReleasedError(f"{self.op}, {self.name}: the registration was removed")
        handle = self._entry.handles.get(device)
        if handle is None:
            raise errors.InvalidArgumentError(f"{self.op}, {self.name} is not registered for {device.name}")
        if not self._entry.is_op:
            device._check("gpuemu_kernel_compile", handle)

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *raised: Any) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<Registration {self.op}{'' if self._entry.is_op else ', ' + self.name}{'' if registrations.is_registered(self._entry) else ', removed'}>"


def _insist_on_texts(what: str, given: Any) -> None:
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise TypeError(f"{what} is of type {type(given).__name__}, expected a list of texts")
    for place, one in enumerate(given):
        if not isinstance(one, str):
            raise TypeError(f"{what}[{place}] is of type {type(one).__name__}, expected a text")


def _texts(what: str, given: Any) -> Any:
    _insist_on_texts(what, given)
    return (ctypes.c_char_p * max(len(given), 1))(*[one.encode() for one in given])


def _fields(schema: Any) -> Any:
    if isinstance(schema, str) or not isinstance(schema, Sequence):
        raise TypeError(f"schema is of type {type(schema).__name__}, expected a list of (field, dtype, default)")
    row = (structs.Field * max(len(schema), 1))()
    for place, one in enumerate(schema):
        if not isinstance(one, (list, tuple)) or len(one) != 3 or not isinstance(one[0], str) or not isinstance(one[1], str):
            raise TypeError(f"schema[{place}] is {one!r}, expected (field, dtype, default)")
        if one[2] is not None and one[1] in calling.FORMATS:
            calling.packed(f"schema[{place}], the default of '{one[0]}',", one[1], one[2])
        row[place] = structs.Field(one[0].encode(), one[1].encode(), 0.0 if one[2] is None else float(one[2]), 0 if one[2] is None else 1)
    return row


def register_op(name: str, inputs: Sequence[str], outputs: Sequence[str], *, schema: Sequence[Any] = (), in_place: bool = False,
                infer: Callable[..., Any] | None = None, reference: Callable[..., Any] | None = None,
                error_scale: Callable[..., Any] | None = None, summary: str = "") -> Registration:  # fmt: skip
    """Registers an op for the process. inputs, outputs: "x: T", "index: I, rank 1"; schema: (field, dtype, default).

    infer(*specs, **attrs) returns the TensorSpecs of the outputs, reference(**inputs, **attrs) float64 arrays (one, or a dict by
    output), error_scale the magnitude of the terms that it sums, in the same form. register_kernel adds kernels.
    """
    for what, value in (("name", name), ("summary", summary)):
        if not isinstance(value, str):
            raise TypeError(f"{what} is of type {type(value).__name__}, expected a str")
    for what, function in (("infer", infer), ("reference", reference), ("error_scale", error_scale)):
        if function is not None and not callable(function):
            raise TypeError(f"{what} is of type {type(function).__name__}, expected a function")
    ins, outs, fields = _texts("inputs", inputs), _texts("outputs", outputs), _fields(schema)
    names = [tuple(one.partition(":")[0].strip() for one in row) for row in (inputs, outputs)]
    for one in schema:
        if one[0] in (*names[0], *names[1]):
            raise errors.InvalidArgumentError(f"op '{name}': an operand and an attribute are both called '{one[0]}'")
    declared = structs.OpDeclaration(
        struct_bytes=ctypes.sizeof(structs.OpDeclaration), in_place=1 if in_place else 0, name=name.encode(), summary=summary.encode(),
        inputs=ctypes.addressof(ins), outputs=ctypes.addressof(outs), fields=ctypes.addressof(fields), input_count=len(inputs),
        output_count=len(outputs), field_count=len(schema),
    )  # fmt: skip
    entry = Entry(name, name, declared, (ins, outs, fields))
    entry.infer, entry.reference, entry.error_scale = infer, reference, error_scale
    entry.fields = {one[0]: one[2] for one in schema}
    entry.operands = (names[0], names[1])
    entry.described = {"inputs": list(inputs), "outputs": list(outputs), "schema": [list(one) for one in schema], "in_place": bool(in_place), "summary": summary}
    calling._any_device()  # Rejects wrong arguments if no device is open yet.
    registrations.add(entry)
    return Registration(entry)


def register_kernel(op: str, name: str, source: Any, launches: Sequence[Launch], *, types: Mapping[str, Sequence[str]] | None = None,
                    priority: int = 0, supports: Any = None, schema: Sequence[Any] = (), strided: bool = False, wide: bool = False,
                    sm_min: int = 0, workspace: Any = 0, device: Device | None = None) -> Registration:  # fmt: skip
    """Registers a kernel for an op, for the process or for one device. source: CUDA C++ or PTX, text or path.

    types: {"T": ["float32"]}; a missing letter accepts every float. supports: an expression that is 0 for cases that the kernel
    does not support, or supports(case) -> True | the reason. workspace: bytes of an operand "workspace" of the launches. Raises
    InvalidArgumentError, NotFoundError, and CompileError for PTX; CUDA C++ is compiled when it is first needed.
    """
    for what, value in (("op", op), ("name", name)):
        if not isinstance(value, str):
            raise TypeError(f"{what} is of type {type(value).__name__}, expected a str")
    if device is not None and not isinstance(device, Device):
        raise TypeError(f"device is of type {type(device).__name__}, expected a Device or None")
    if isinstance(launches, str) or not isinstance(launches, Sequence):
        raise TypeError(f"launches is of type {type(launches).__name__}, expected a list of Launch")
    for place, launch in enumerate(launches):
        if not isinstance(launch, Launch):
            raise TypeError(f"launches[{place}] is of type {type(launch).__name__}, expected a Launch")
    room = _size("workspace", workspace, 0)
    rows = (structs.LaunchDeclaration * max(len(launches), 1))()
    kept: list[Any] = [rows]
    for row, one in zip(rows, launches):
        args = _texts("args", one.args)
        kept.append(args)
        row.entry, row.args, row.arg_count = one.entry.encode(), ctypes.addressof(args), len(one.args)
        row.shared = str(one.shared).encode()
        for axis, size in enumerate(one.grid):
            row.grid[axis] = size.encode()
        for axis, size in enumerate(one.block):
            row.block[axis] = size.encode()
    fields = _fields(schema)
    declared = structs.KernelDeclaration(
        struct_bytes=ctypes.sizeof(structs.KernelDeclaration), name=name.encode(), source=_source(source), launches=ctypes.addressof(rows),
        types=_types(types), workspace=room.encode(), fields=ctypes.addressof(fields), launch_count=len(launches),
        field_count=len(schema), priority=structs.whole("priority", priority, INT32_MAX, -INT32_MAX),
        sm_min=structs.whole("sm_min", sm_min, INT32_MAX), strided=1 if strided else 0, wide=1 if wide else 0,
    )  # fmt: skip
    if isinstance(supports, str):
        declared.supports = supports.encode()
    elif supports is not None:
        if not callable(supports):
            raise TypeError(f"supports is of type {type(supports).__name__}, expected a text or a function")
        declared.supports_call = registrations.keep(structs.SUPPORTS(_asking(op, name, supports)))
    entry = Entry(op, name, declared, (kept, fields), device)
    entry.described = {
        "source": declared.source.decode(), "types": {} if types is None else {letter: list(names) for letter, names in types.items()},
        "launches": [{"entry": one.entry, "grid": one.grid, "block": one.block, "args": one.args, "shared": one.shared} for one in launches],
        "schema": [list(one) for one in schema], "strided": strided, "wide": wide, "sm_min": sm_min, "workspace": room,
        "priority": priority, "supports": supports if isinstance(supports, str) else None, "asks": callable(supports),
    }  # fmt: skip
    if device is None:
        calling._any_device()
    else:
        device._insist()
    registrations.add(entry)
    return Registration(entry)


def register_described(op: str, name: str, described: Mapping[str, Any], source: Any, device: Device | None) -> Registration:
    """Registers a kernel again from its registrations.Entry.described, without a `supports` function."""
    launches = [Launch(one["entry"], list(one["grid"]), list(one["block"]), one["args"], shared=one["shared"]) for one in described["launches"]]
    how = {key: described[key] for key in ("strided", "wide", "sm_min", "workspace", "priority", "supports") if key in described}
    return register_kernel(op, name, source, launches, types=described["types"] or None, schema=described["schema"], device=device, **how)


def register_described_op(op: str, described: Mapping[str, Any]) -> Registration:
    """Registers an op again from its registrations.Entry.described, without the functions of the original program."""
    return register_op(op, described["inputs"], described["outputs"], schema=described["schema"], in_place=described["in_place"],
                       summary=described["summary"])  # fmt: skip


class Followed:
    """Repeats the registrations of another process here, except kernels with a `supports` function of that process."""

    def __init__(self) -> None:
        self._made: dict[int, Registration] = {}

    def follow(self, new: Sequence[Any], gone: Sequence[int]) -> None:
        """Applies what registrations.news() of the other process returned."""
        for number in gone:
            if number in self._made:
                self._made.pop(number).remove()
        for number, is_op, op, name, described in new:
            if is_op:
                self._made[number] = register_described_op(op, described)
            elif not described["asks"]:
                self._made[number] = register_described(op, name, described, described["source"], None)


def _source(source: Any) -> bytes:
    if isinstance(source, os.PathLike):
        return os.fsencode(source)
    if not isinstance(source, str):
        raise TypeError(f"source is of type {type(source).__name__}, expected CUDA C++ or PTX, or the path of a file")
    return source.encode()


def _types(types: Any) -> bytes:
    if types is None:
        return b""
    if not isinstance(types, Mapping):
        raise TypeError(f"types is of type {type(types).__name__}, expected a dict such as {{\"T\": [\"float32\"]}}")
    rules = []
    for letter, names in types.items():
        listed = [names] if isinstance(names, str) else list(names)
        rules.append(f"{letter}: {', '.join(str(one) for one in listed)}")
    return "; ".join(rules).encode()


def _asking(op: str, name: str, supports: Callable[[Any], Any]) -> Callable[[Any, Any], int]:
    """Returns a callback that calls the function; the text of an exception becomes the reason."""

    def ask(user: Any, asked: Any) -> int:
        try:
            said = supports(_case(op, name, asked.contents))
        except Exception as problem:
            said = str(problem) or type(problem).__name__
        if said is True:
            return 0
        _reasons.text = ctypes.create_string_buffer((said if isinstance(said, str) else f"supports() gave {said!r}").encode() or b"no")
        return ctypes.addressof(_reasons.text)

    return ask


def _case(op: str, name: str, asked: structs.Case) -> Any:
    info = calling.op_info(op)
    schema = next((one.schema for one in info.variants if one.name == name), info.schema)

    def specs(rows: Any, count: int, operands: Any) -> dict[str, TensorSpec]:
        made = {}
        for place in range(count):
            one = rows[place]
            shape, strides = ((ctypes.c_int64 * one.rank).from_address(row)[:] if one.rank else [] for row in (one.shape, one.strides))
            made[operands[place].name] = TensorSpec(tuple(shape), tuple(strides), dtypes_generated.DTYPES[one.dtype])
        return made

    data = ctypes.string_at(asked.attributes, asked.attribute_bytes) if asked.attribute_bytes else b""
    return SimpleNamespace(inputs=specs(asked.inputs, asked.input_count, info.inputs), outputs=specs(asked.outputs, asked.output_count, info.outputs),
                           attrs=calling.read_fields(schema, data), sm=asked.sm)  # fmt: skip
