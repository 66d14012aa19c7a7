"""Calls ops, and lists the ops and their kernels."""

from __future__ import annotations

import ctypes
import itertools
import struct
import threading
from collections import namedtuple
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import gpuemu.runtime.errors as errors
import gpuemu.runtime.interop as interop
import gpuemu.runtime.registrations as registrations
import gpuemu.runtime.repeating as repeating
import gpuemu.runtime.structs as structs
from gpuemu.runtime.current import current_device, existing_device
from gpuemu.runtime.device import Device
from gpuemu.runtime.tensors import Tensor

OPERANDS_MAX = 16
_ROWS = (list, tuple)
_NONE = type(None)
# The types of kind, attrs, schema_id, variant.
_REPEATABLE = set(itertools.product((str, int), (_NONE, bytes), (_NONE, int), (_NONE, str)))
FORMATS = {"int32": "i", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d"}
_CALL_BYTES = ctypes.sizeof(structs.Call)
_catalog_lock = threading.Lock()
_names: list[str] = []  # Index is the number - 1: numbers of op_number() are those of the process.
_numbers: dict[str, int] = {}
_catalog: Device | None = None

Operand = namedtuple("Operand", "name type rank_min rank_max")
Field = namedtuple("Field", "name type default since meaning")
Schema = namedtuple("Schema", "id fields")
Variant = namedtuple("Variant", "name priority types source schema origin")


@dataclass(frozen=True)
class OpInfo:
    """Describes an op. inputs, outputs: Operand(name, type, rank_min, rank_max); operands of one type (a letter) have the same
    dtype. in_place: an output may be the same tensor as an input. schema: Schema(id, fields) of attributes. variants: the
    kernels, in the order in which they are tried: Variant(name, priority, types, source, schema, origin). deterministic: equal
    inputs give equal bits on a GPU with the same variant; False if a registered kernel adds floats by atomics, whose order
    varies."""

    name: str
    summary: str
    inputs: tuple[Operand, ...]
    outputs: tuple[Operand, ...]
    in_place: bool
    schema: Schema
    variants: tuple[Variant, ...]
    deterministic: bool = True


def _any_device() -> Device:
    """Returns the current device if it is open, else an emulator: all devices have the same ops, and listing them must not open a
    GPU."""
    global _catalog
    found = existing_device()
    if found is not None:
        return found
    with _catalog_lock:
        if _catalog is None or _catalog.is_closed:
            _catalog = Device("emulator", threads=1)
        return _catalog


def ops() -> list[str]:
    """Returns the names of all ops, sorted."""
    device = _any_device()
    count = device._context.call(device._library.gpuemu_op_count)
    handle = device._context.enter()
    try:
        names = [device._library.gpuemu_op_name(handle, number) for number in range(1, count + 1)]
        return sorted(one.decode() for one in names if one is not None)  # None: the op was removed.
    finally:
        device._context.leave()


def op_number(name: str) -> int:
    """Returns a number that op_call accepts in place of the name, in this process. Raises NotFoundError."""
    if not isinstance(name, str):
        raise TypeError(f"name is of type {type(name).__name__}, expected a str")
    number = _numbers.get(name)
    if number is None:
        _any_device()._op_number(name)  # Raises NotFoundError for an unknown op.
        with _catalog_lock:
            if name not in _numbers:
                _names.append(name)
                _numbers[name] = len(_names)
            number = _numbers[name]
    return number


def _operands(told: list[dict[str, Any]]) -> tuple[Operand, ...]:
    return tuple(Operand(**one) for one in told)


def _schema(told: dict[str, Any]) -> Schema:
    return Schema(told["id"], tuple(Field(**one) for one in told["fields"]))


def op_info(name: str) -> OpInfo:
    """Returns operands, attributes and kernels of an op. Raises NotFoundError, which lists the ops."""
    return _info_on(_any_device(), name)


def _info_on(device: Device, name: str) -> OpInfo:
    known: OpInfo | None = device._infos.get(name)
    if known is not None:
        return known
    if not isinstance(name, str):
        raise TypeError(f"name is of type {type(name).__name__}, expected a str")
    told = device._json("gpuemu_op_json", device._op_number(name))
    made = OpInfo(
        name=told["name"], summary=told["summary"], inputs=_operands(told["inputs"]), outputs=_operands(told["outputs"]),
        in_place=told["in_place"], schema=_schema(told["schema"]),
        variants=tuple(Variant(**{**one, "schema": _schema(one["schema"])}) for one in told["variants"]),
        deterministic=not any(registrations.adds_by_atomics(device, name, one["name"]) for one in told["variants"]),
    )  # fmt: skip
    device._infos[name] = made
    return made


def _schema_of(op: str, variant: str | None, device: Device | None = None) -> Schema:
    info = _info_on(_any_device() if device is None else device, op)
    if variant is None:
        return info.schema
    found = next((one for one in info.variants if one.name == variant), None)
    if found is None:
        raise errors.NotFoundError(f"{op} has no variant '{variant}'; there are: {', '.join(one.name for one in info.variants)}")
    schema: Schema = found.schema
    return schema


def _fields_of(schema: Schema) -> str:
    return ", ".join(f"{one.name}: {one.type}" for one in schema.fields) or "none"


def pack(op: str, attrs: Mapping[str, Any] | None, *, variant: str | None = None) -> tuple[int, bytes]:
    """Packs attributes for op_call: returns the schema's id, and the bytes. None: defaults."""
    attrs = {} if attrs is None else attrs
    if not isinstance(attrs, Mapping):
        raise TypeError(f"attrs is of type {type(attrs).__name__}, expected a dict")
    return _packed_by(op, _schema_of(op, variant), attrs)


def _packed_by(op: str, schema: Schema, attrs: Mapping[str, Any]) -> tuple[int, bytes]:
    unknown = [key for key in attrs if key not in {one.name for one in schema.fields}]
    if unknown:
        raise errors.InvalidArgumentError(f"{op} has no attribute '{unknown[0]}'; its fields are: {_fields_of(schema)}")
    data = b""
    for one in schema.fields:
        value = attrs.get(one.name, one.default)
        if value is None:
            raise errors.InvalidArgumentError(f"{op} needs the attribute '{one.name}'; its fields are: {_fields_of(schema)}")
        data += packed(f"{op}: attribute '{one.name}'", one.type, value)
    return schema.id, data


def packed(what: str, dtype: str, value: Any) -> bytes:
    """Packs one attribute. Raises TypeError or InvalidArgumentError with a message that begins with `what`."""
    is_whole = "int" in dtype
    if not isinstance(value, (int, float)) and not hasattr(value, "__index__" if is_whole else "__float__"):
        raise TypeError(f"{what} is of type {type(value).__name__}, expected {dtype}")
    if is_whole and int(value) != value:
        raise errors.InvalidArgumentError(f"{what} is {value}, expected a whole number ({dtype})")
    try:
        return struct.pack("<" + FORMATS[dtype], int(value) if is_whole else float(value))
    except (struct.error, OverflowError):
        raise errors.InvalidArgumentError(f"{what} is {value}, which {dtype} does not hold") from None


def unpack(op: str, schema_id: int, data: bytes) -> dict[str, Any]:
    """Returns the attributes in packed bytes; fields that an older schema lacks get their defaults."""
    info = op_info(op)
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(f"data is of type {type(data).__name__}, expected bytes")
    if not isinstance(schema_id, int):
        raise TypeError(f"schema_id is of type {type(schema_id).__name__}, expected an int")
    schemas = [info.schema, *(one.schema for one in info.variants)]
    # Use the version with a variant's own fields if it exists, else that of the op.
    schema = next((one for one in schemas if schema_id & 255 in {field.since for field in one.fields}), info.schema)
    if schema_id == 0 and not data:
        return {one.name: one.default for one in schema.fields}
    if schema_id >> 8 != schema.id >> 8 or not 0 < schema_id & 255 <= schema.id & 255:
        raise errors.InvalidArgumentError(f"schema_id is {schema_id}, expected {schema.id} or one of an older version of {op}")
    there = [one for one in schema.fields if one.since <= schema_id & 255]
    layout = "<" + "".join(FORMATS[one.type] for one in there)
    if len(data) != struct.calcsize(layout):
        raise errors.InvalidArgumentError(f"{op}: {len(data)} bytes of attributes, expected {struct.calcsize(layout)}: {_fields_of(schema)}")
    given = dict(zip([one.name for one in there], struct.unpack(layout, data)))
    return {one.name: given.get(one.name, one.default) for one in schema.fields}


def read_fields(schema: Schema, data: bytes) -> dict[str, Any]:
    """Reads as many fields as the bytes have; the others get their defaults."""
    made, at = {}, 0
    for one in schema.fields:
        size = struct.calcsize("<" + FORMATS[one.type])
        made[one.name] = struct.unpack_from("<" + FORMATS[one.type], data, at)[0] if at + size <= len(data) else one.default
        at += size
    return made


def _device_of(inputs: Sequence[Any], outputs: Sequence[Any]) -> Device:
    for one in (*outputs, *inputs):
        if isinstance(one, Tensor):
            found: Device = one._device
            return found
    return current_device()


def _adopted(value: Any, what: str, device: Device) -> Tensor:
    try:
        return interop.as_tensor(value, device=device)
    except (BufferError, TypeError, errors.InvalidArgumentError) as problem:
        raise type(problem)(f"{what}: {problem}") from None


def _taken(name: str, what: str, given: Any, device: Device) -> list[Tensor]:
    if isinstance(given, (Tensor, str)) or not isinstance(given, Sequence):
        raise TypeError(f"{name}: {what} is of type {type(given).__name__}, expected a list of tensors")
    if len(given) > OPERANDS_MAX:
        raise errors.InvalidArgumentError(f"{name}: {len(given)} {what}, expected at most {OPERANDS_MAX}")
    taken = []
    for number, one in enumerate(given):
        made = one if isinstance(one, Tensor) else _adopted(one, f"{name}: {what}[{number}]", device)
        if made._device is not device:
            raise errors.InvalidArgumentError(f"{name}: {what}[{number}] is of {made._device.name}, expected one of {device._told_apart_from(made._device)}")
        taken.append(made)
    return taken


def _packed_attributes(device: Device, name: str, attrs: Any, schema_id: int | None, variant: str | None) -> tuple[int, bytes]:
    if attrs is None:
        if schema_id is not None:
            raise errors.InvalidArgumentError(f"{name}: schema_id goes with attributes as bytes, and there are none")
        return 0, b""
    if isinstance(attrs, (bytes, bytearray, memoryview)):
        if schema_id is None:
            raise errors.InvalidArgumentError(f"{name}: attributes as bytes need their schema_id; pack() gives both")
        return structs.whole(f"{name}: schema_id", schema_id, 2**32 - 1), bytes(attrs)
    if schema_id is not None:
        raise errors.InvalidArgumentError(f"{name}: schema_id goes with attributes as bytes; a dict needs none")
    if not isinstance(attrs, Mapping):
        raise TypeError(f"{name}: attrs is of type {type(attrs).__name__}, expected a dict or bytes")
    return _packed_by(name, _schema_for(device, name, attrs, variant), attrs) if attrs else (0, b"")


def _schema_for(device: Device, name: str, attrs: Mapping[str, Any], variant: str | None) -> Schema:
    """Returns the op's schema or, for fields that only variants have, that of the first variant with all of them: the preferred
    variant, then the others in order."""
    info = _info_on(device, name)
    if variant is not None:
        schema = _schema_of(name, variant, device)
        lacks = next((one for one in attrs if one not in {field.name for field in schema.fields}), None)
        if lacks is not None and any(lacks == field.name for one in info.variants for field in one.schema.fields):
            raise errors.UnsupportedError(f"{name}: the variant '{variant}' does not compute this call: it has no attribute {lacks}")
        return schema
    if set(attrs) <= {one.name for one in info.schema.fields}:
        return info.schema
    wish = device.policy.prefer.get(name)
    able = [one for one in info.variants if set(attrs) <= {field.name for field in one.schema.fields}]
    first = min(able, key=lambda each: each.name != wish, default=None)
    chosen: Schema = info.schema if first is None else first.schema
    return chosen


def op_call(kind: str | int, inputs: Sequence[Any], outputs: Sequence[Any], attrs: Mapping[str, Any] | bytes | None = None, *,
            schema_id: int | None = None, stream: Any = None, variant: str | None = None, device: Device | None = None) -> None:  # fmt: skip
    """Runs an op on tensors. kind: its name, or op_number() of it. attrs: a dict, or packed bytes with their schema_id.

    Checks everything before it launches anything; returns when the work is issued. variant: uses only this kernel. Raises
    NotFoundError, InvalidArgumentError, which names the operand, or UnsupportedError with each variant's reason.
    """
    may_repeat = type(inputs) in _ROWS and type(outputs) in _ROWS and outputs and type(outputs[0]) is Tensor
    before = outputs[0]._repeatable if may_repeat else None
    if before is not None:
        known = before.asked
        is_same = known[0] is kind and known[1] is attrs and known[2] is schema_id and known[3] is variant
        if (is_same or before.asks(kind, attrs, schema_id, variant)) and repeating.repeated(before, inputs, outputs, stream, device):
            return
    made = _call(kind, inputs, outputs, attrs, schema_id, stream, variant, device)
    asked = (kind, attrs, schema_id, variant)
    # A registered op may be removed, and its infer() must run each time.
    if may_repeat and tuple(map(type, asked)) in _REPEATABLE and registrations.op_named(made[0]) is None:
        outputs[0]._repeatable = repeating.Repeatable(asked, *made[1:])


def exact_call(kind: str, inputs: Sequence[Tensor], outputs: Sequence[Tensor], attrs: Mapping[str, Any] | bytes | None = None, *,
               schema_id: int | None = None, variant: str | None = None, device: Device | None = None) -> list[Any]:  # fmt: skip
    """Like op_call, and waits. Returns for each output an array of structs.Exact with the values of its elements without any
    rounding, None for an output that is not of floats. Raises UnsupportedError where the emulator cannot follow the values: on a
    GPU, and in a library."""
    made = [(structs.Exact * one.size)() if "float" in one.dtype else None for one in outputs]
    addresses = (ctypes.c_void_p * len(made))(*[None if one is None else ctypes.addressof(one) for one in made])
    _call(kind, inputs, outputs, attrs, schema_id, None, variant, device, "gpuemu_op_call_exact", addresses)
    return [None if one is None else np.frombuffer(one, np.dtype(structs.Exact), len(one)) for one in made]


def variant_source(op: str, variant: str, device: Device) -> str:
    """Returns the text that a kernel is loaded from. Raises UnsupportedError for a library, NotFoundError for an unknown
    variant."""
    return device._text("gpuemu_variant_source", device._op_number(op), variant.encode())


def _call(kind: str | int, inputs: Sequence[Any], outputs: Sequence[Any], attrs: Any, schema_id: int | None, stream: Any, variant: str | None,
          device: Device | None, *function: Any) -> tuple[str, structs.Call, list[Tensor], list[Tensor], Any]:  # fmt: skip
    if device is None:
        device = _device_of(inputs if isinstance(inputs, Sequence) else (), outputs if isinstance(outputs, Sequence) else ())
    elif not isinstance(device, Device):
        raise TypeError(f"device is of type {type(device).__name__}, expected a Device or None")
    name, call = _name_of(kind), structs.Call(struct_bytes=_CALL_BYTES)
    device._op_number(name)  # An unknown name is reported before any other error.
    ins, outs = _taken(name, "inputs", inputs, device), _taken(name, "outputs", outputs, device)
    chosen = device._stream(stream)
    if variant is not None:
        if not isinstance(variant, str):
            raise TypeError(f"{name}: variant is of type {type(variant).__name__}, expected a str")
        call.variant = variant.encode()
    call.schema_id, packed = _packed_attributes(device, name, attrs, schema_id, variant)
    call.attributes, call.attribute_bytes = packed, len(packed)
    registered = registrations.op_named(name)
    if registered is not None:
        registrations.check_outputs(registered, ins, outs, read_fields(_schema_of(name, None, device), packed))
    device._issue(name, call, ins, outs, chosen, *function)
    return name, call, ins, outs, chosen


def _name_of(kind: str | int) -> str:
    if isinstance(kind, str):
        return kind
    if not isinstance(kind, int) or isinstance(kind, bool):
        raise TypeError(f"kind is of type {type(kind).__name__}, expected the name of an op")
    if not 0 < kind <= len(_names):
        raise errors.NotFoundError(f"no op has the number {kind}: op_number() gives numbers")
    return _names[kind - 1]
