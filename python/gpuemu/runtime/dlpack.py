"""The structs of DLPack: capsules that are given away, and those that others gave."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

from gpuemu.dtypes_generated import TABLE
import gpuemu.runtime.errors as errors

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"
_READ_ONLY = 1
# DLDataTypeCode by kind; bfloat16 has a code of its own.
_KINDS, _BFLOAT = {"signed": 0, "unsigned": 1, "float": 2, "bool": 6}, 4
# DLDataType's (code, bits) by name, and the reverse.
_CODES = {name: (_BFLOAT if name == "bfloat16" else _KINDS[row.kind], 8 * row.size) for name, row in TABLE.items()}
_DTYPES = {pair: name for name, pair in _CODES.items()}
_i64s = ctypes.POINTER(ctypes.c_int64)


class _Elements(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", _i64s), ("strides", _i64s),
                ("byte_offset", ctypes.c_uint64)]  # fmt: skip


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("elements", _Elements), ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("owner", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("elements", _Elements)]  # fmt: skip


_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
# Also of a capsule that is being destroyed, which must not be counted as an object again.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_given: dict[int, Any] = {}  # What capsules point to, by address, until their consumer drops it.
_USED = {_PLAIN: b"used_dltensor", _VERSIONED: b"used_dltensor_versioned"}


@_DELETER  # type: ignore[untyped-decorator, unused-ignore]
def _drop(address: int) -> None:
    _given.pop(address, None)


@_DESTRUCTOR  # type: ignore[untyped-decorator, unused-ignore]
def _drop_unused(capsule: int) -> None:
    for name in (_PLAIN, _VERSIONED):
        if _is_valid(capsule, name):
            _given.pop(_pointer(capsule, name), None)


def exported(address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, device: tuple[int, int], *, versioned: bool,
             readonly: bool, owner: Any) -> Any:  # fmt: skip
    """A capsule. `owner` is kept until its consumer drops it."""
    made: Any = _ManagedVersioned() if versioned else _Managed()
    row = ctypes.c_int64 * max(len(shape), 1)
    sizes, steps = row(*shape), row(*strides)
    one = made.elements
    one.data, one.device_type, one.device_id, one.rank = address, device[0], device[1], len(shape)
    one.code, one.bits, one.lanes, one.byte_offset = *_CODES[dtype], 1, 0
    one.shape, one.strides = ctypes.cast(sizes, _i64s), ctypes.cast(steps, _i64s)
    made.deleter = ctypes.cast(_drop, ctypes.c_void_p)
    if versioned:
        made.major, made.minor, made.flags = 1, 0, _READ_ONLY if readonly else 0
    at = ctypes.addressof(made)
    _given[at] = (made, sizes, steps, owner)
    return _new(at, _VERSIONED if versioned else _PLAIN, ctypes.cast(_drop_unused, ctypes.c_void_p))


class Imported:
    """What a capsule holds. It is given back when nothing refers to this object."""

    def __init__(self, capsule: Any) -> None:
        self._give_back: Callable[[], Any] | None = None
        at = id(capsule)
        name = next((one for one in (_VERSIONED, _PLAIN) if _is_valid(at, one)), None)
        if name is None:
            raise errors.InvalidArgumentError("__dlpack__ gave no capsule of a tensor, or one that was used already")
        address = _pointer(at, name)
        managed: Any = (_ManagedVersioned if name == _VERSIONED else _Managed).from_address(address)
        if name == _VERSIONED and managed.major != 1:
            raise BufferError(f"the capsule has version {managed.major}.{managed.minor} of DLPack, expected 1")
        one = managed.elements
        self.device = (one.device_type, one.device_id)
        self.is_readonly = name == _VERSIONED and bool(managed.flags & _READ_ONLY)
        self.shape = tuple(one.shape[axis] for axis in range(one.rank))
        packed = tuple(math.prod(self.shape[axis + 1 :]) for axis in range(one.rank))
        self.strides = tuple(one.strides[axis] for axis in range(one.rank)) if one.strides else packed
        self.address = (one.data or 0) + one.byte_offset
        self.dtype = _DTYPES.get((one.code, one.bits), "") if one.lanes == 1 else ""
        if not self.dtype:
            raise errors.InvalidArgumentError(f"the elements have code {one.code}, {one.bits} bits and {one.lanes} lanes, which no dtype of a device has")
        _rename(at, _USED[name])
        if managed.deleter:
            deleter = _DELETER(managed.deleter)
            self._give_back = lambda: deleter(address)

    def __del__(self) -> None:
        if self._give_back is not None:
            self._give_back()
