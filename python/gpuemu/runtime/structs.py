"""The structs and function signatures of the C interface, for ctypes."""

from __future__ import annotations

import ctypes
from typing import Any

import gpuemu.runtime.errors as errors

u32, u64, i32, size, text, pointer = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int32, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p


def whole(name: str, value: Any, most: int = 2**64 - 1, least: int = 0) -> int:
    """Returns the number after checking its range: ctypes would silently truncate it."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is of type {type(value).__name__}, expected an int")
    number: int = value.__index__()
    if not least <= number <= most:
        expected = "0 or more" if number < 0 and least == 0 else f"{least} to {most}"
        raise errors.InvalidArgumentError(f"{name} is {number}, expected {expected}")
    return number


class Options(ctypes.Structure):
    """gpuemu_options"""

    _fields_ = [("struct_bytes", u32), ("device", i32), ("backend", text), ("sm", i32), ("threads", u32), ("folder", text),
                ("policy", text), ("schedule_seed", u64), ("guard_bytes", u64), ("memory_limit_bytes", u64)]  # fmt: skip


class DeviceProperties(ctypes.Structure):
    """gpuemu_device_info"""

    _fields_ = [("struct_bytes", u32), ("sm", i32), ("multiprocessors", u32), ("is_emulator", u32), ("memory_bytes", u64),
                ("backend", ctypes.c_char * 16), ("name", ctypes.c_char * 104), ("memory_free_bytes", u64), ("index", u32),
                ("dtypes", u32), ("driver_version", ctypes.c_char * 32), ("runtime_version", ctypes.c_char * 32)]  # fmt: skip


class Statistics(ctypes.Structure):
    """gpuemu_memory_statistics"""

    _fields_ = [("struct_bytes", u32), *((name, u64) for name in (
        "requested_bytes", "allocated_bytes", "reserved_bytes", "cached_bytes", "peak_requested_bytes", "peak_reserved_bytes",
        "pinned_bytes", "managed_bytes", "adopted_bytes", "live", "allocations", "frees", "from_cache", "segments_taken", "trims"))]  # fmt: skip


class Operand(ctypes.Structure):
    """gpuemu_tensor"""

    _fields_ = [("data", pointer), ("dtype", i32), ("rank", i32), ("shape", pointer), ("strides", pointer)]


_ROWS = tuple(Operand * count for count in range(17))


def operands(row: Any) -> Any:
    """Returns the operands of tensors as an array, which lives as long as it is referenced."""
    return _ROWS[len(row)](*[one._operand for one in row])


class Call(ctypes.Structure):
    """gpuemu_call"""

    _fields_ = [("struct_bytes", u32), ("op", u32), ("inputs", pointer), ("outputs", pointer), ("input_count", u32), ("output_count", u32),
                ("schema_id", u32), ("attribute_bytes", u32), ("attributes", text), ("stream", u64), ("variant", text)]  # fmt: skip


class Exact(ctypes.Structure):
    """gpuemu_exact"""

    _fields_ = [("high", ctypes.c_double), ("low", ctypes.c_double), ("bound", ctypes.c_double), ("known", u32), ("unused", u32)]


class Field(ctypes.Structure):
    """gpuemu_field"""

    _fields_ = [("name", text), ("dtype", text), ("fallback", ctypes.c_double), ("has_fallback", u32)]


class OpDeclaration(ctypes.Structure):
    """gpuemu_op_declaration"""

    _fields_ = [("struct_bytes", u32), ("in_place", u32), ("name", text), ("summary", text), ("inputs", pointer), ("outputs", pointer),
                ("fields", pointer), ("input_count", u32), ("output_count", u32), ("field_count", u32)]  # fmt: skip


class LaunchDeclaration(ctypes.Structure):
    """gpuemu_launch_declaration"""

    _fields_ = [("entry", text), ("grid", text * 3), ("block", text * 3), ("shared", text), ("args", pointer), ("arg_count", u32)]


class Case(ctypes.Structure):
    """gpuemu_case"""

    _fields_ = [("struct_bytes", u32), ("sm", i32), ("inputs", ctypes.POINTER(Operand)), ("outputs", ctypes.POINTER(Operand)),
                ("input_count", u32), ("output_count", u32), ("attribute_bytes", u32), ("unused", u32), ("attributes", pointer),
                ("workspace", pointer)]  # fmt: skip


SUPPORTS = ctypes.CFUNCTYPE(pointer, pointer, ctypes.POINTER(Case))


class KernelDeclaration(ctypes.Structure):
    """gpuemu_kernel_declaration"""

    _fields_ = [("struct_bytes", u32), ("op", u32), ("name", text), ("source", text), ("launches", pointer), ("types", text),
                ("supports", text), ("workspace", text), ("fields", pointer), ("launch_count", u32), ("field_count", u32),
                ("priority", i32), ("sm_min", i32), ("strided", u32), ("wide", u32), ("supports_call", SUPPORTS), ("plan", pointer),
                ("user", pointer)]  # fmt: skip


_out_u32, _out_u64, _out_pointer = ctypes.POINTER(u32), ctypes.POINTER(u64), ctypes.POINTER(pointer)
_into: list[Any] = [pointer, size, ctypes.POINTER(size)]
# The parameters of each function. Those in RESULTS return something other than a code.
FUNCTIONS: dict[str, list[Any]] = {
    "gpuemu_abi_version": [], "gpuemu_last_error": [], "gpuemu_version": [], "gpuemu_versions_json": _into,
    "gpuemu_device_count": [text, _out_u32], "gpuemu_device_at": [text, u32, ctypes.POINTER(DeviceProperties)],
    "gpuemu_context_create": [ctypes.POINTER(Options), _out_pointer], "gpuemu_context_destroy": [pointer],
    "gpuemu_context_device": [pointer, ctypes.POINTER(DeviceProperties)], "gpuemu_context_synchronize": [pointer],
    "gpuemu_checks_set": [pointer, text], "gpuemu_findings_json": [pointer, *_into],
    "gpuemu_policy_set": [pointer, text], "gpuemu_policy_json": [pointer, *_into], "gpuemu_context_set_policy": [pointer, text],
    "gpuemu_log_start": [pointer, u32, u32, _out_u64], "gpuemu_log_json": [pointer, u64, *_into], "gpuemu_log_stop": [pointer, u64],
    "gpuemu_profile_start": [pointer, u32], "gpuemu_profile_stop": [pointer, text, text], "gpuemu_profile_json": [pointer, *_into],
    "gpuemu_range_begin": [pointer, text], "gpuemu_range_end": [pointer],
    "gpuemu_op_find": [pointer, text, _out_u32], "gpuemu_op_count": [pointer], "gpuemu_op_name": [pointer, u32],
    "gpuemu_op_json": [pointer, u32, *_into], "gpuemu_op_call": [pointer, ctypes.POINTER(Call)],
    "gpuemu_op_prepare": [pointer, ctypes.POINTER(Call)],
    "gpuemu_op_register": [pointer, ctypes.POINTER(OpDeclaration), _out_u32], "gpuemu_op_remove": [pointer, u32],
    "gpuemu_kernel_register": [pointer, ctypes.POINTER(KernelDeclaration), _out_u64], "gpuemu_kernel_compile": [pointer, u64],
    "gpuemu_kernel_remove": [pointer, u64],
    "gpuemu_memory_allocate_named": [pointer, u32, size, u64, text, _out_pointer], "gpuemu_memory_free": [pointer, pointer],
    "gpuemu_memory_free_async": [pointer, pointer, u64], "gpuemu_memory_trim": [pointer, size],
    "gpuemu_memory_adopt": [pointer, pointer, size, u32, text], "gpuemu_memory_release": [pointer, pointer],
    "gpuemu_stream_adopt": [pointer, pointer, _out_u64], "gpuemu_stream_native": [pointer, u64, _out_pointer],
    "gpuemu_memory_info": [pointer, _out_u64, _out_u64], "gpuemu_memory_statistics_get": [pointer, ctypes.POINTER(Statistics)],
    "gpuemu_memory_reset_peaks": [pointer], "gpuemu_memory_largest_json": [pointer, u32, *_into],
    "gpuemu_memory_upload": [pointer, pointer, pointer, size, u64], "gpuemu_memory_download": [pointer, pointer, pointer, size, u64],
    "gpuemu_memory_copy": [pointer, pointer, pointer, size, u64], "gpuemu_memory_fill": [pointer, pointer, ctypes.c_uint8, size, u64],
    "gpuemu_stream_create": [pointer, i32, u32, _out_u64], "gpuemu_stream_destroy": [pointer, u64],
    "gpuemu_stream_synchronize": [pointer, u64], "gpuemu_stream_query": [pointer, u64, _out_u32],
    "gpuemu_event_create": [pointer, _out_u64], "gpuemu_event_destroy": [pointer, u64], "gpuemu_event_record": [pointer, u64, u64],
    "gpuemu_event_wait": [pointer, u64, u64], "gpuemu_event_synchronize": [pointer, u64], "gpuemu_event_query": [pointer, u64, _out_u32],
    "gpuemu_event_elapsed_ms": [pointer, u64, u64, ctypes.POINTER(ctypes.c_float)],
    "gpuemu_capture_begin": [pointer, u64], "gpuemu_capture_end": [pointer, u64, _out_u64],
    "gpuemu_graph_launch": [pointer, u64, u64], "gpuemu_graph_nodes": [pointer, u64, _out_u64], "gpuemu_graph_destroy": [pointer, u64],
}  # fmt: skip
# Functions that a library may lack: only calling them is then an error.
LATER: dict[str, list[Any]] = {
    "gpuemu_op_call_exact": [pointer, ctypes.POINTER(Call), ctypes.POINTER(pointer)],
    "gpuemu_variant_source": [pointer, u32, text, *_into],
    "gpuemu_op_calls": [pointer, ctypes.POINTER(pointer), u32, ctypes.POINTER(u32)],
    "gpuemu_op_tag": [pointer, u64],
}  # fmt: skip
RESULTS = {"gpuemu_abi_version": u32, "gpuemu_last_error": text, "gpuemu_version": text, "gpuemu_context_destroy": None,
           "gpuemu_range_begin": None, "gpuemu_range_end": None, "gpuemu_op_count": u32, "gpuemu_op_name": text}  # fmt: skip
