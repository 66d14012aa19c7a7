"""The structs of DLPack: capsules that are exported, and those that are imported."""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from typing import Any

from gpuemu.dtypes_generated import TABLE
import gpuemu.runtime.errors as errors

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
_PLAIN, _VERSIONED = b"dltensor", b"dltensor_versioned"
_READ_ONLY = 1
# DLDataTypeCode by kind; bfloat16 has its own code.
_KINDS, _BFLOAT = {"signed": 0, "unsigned": 1, "float": 2, "bool": 6}, 4
# DLDataType's (code, bits) by name, and the reverse.
_CODES = {name: (_BFLOAT if name == "bfloat16" else _KINDS[row.kind], 8 * row.size) for name, row in TABLE.items()}
_DTYPES = {pair: name for name, pair in _CODES.items()}
# DLManagedTensor and DLManagedTensorVersioned in the format of struct: data, kind and number of the device, rank, code, bits,
# lanes, shape, strides, offset; before them version and flags, after them owner and deleter.
_ELEMENTS = "PiiiBBHPPQ"
_PLAIN_FORM, _VERSIONED_FORM = struct.Struct("@" + _ELEMENTS + "PP"), struct.Struct("@IIPPQ" + _ELEMENTS)
_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


_new = ctypes.pythonapi.PyCapsule_New
_new.argtypes, _new.restype = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p], ctypes.py_object
# Also called for a capsule that is being destroyed, so ctypes must not create a new reference to it.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_SetName", ctypes.pythonapi))
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_given: dict[int, Any] = {}  # The objects behind exported capsules, by address, until the consumer drops the capsule.
_USED = {_PLAIN: b"used_dltensor", _VERSIONED: b"used_dltensor_versioned"}


@_DELETER  # type: ignore[untyped-decorator, unused-ignore]
def _drop(address: int) -> None:
    _given.pop(address, None)


@_DESTRUCTOR  # type: ignore[untyped-decorator, unused-ignore]
def _drop_unused(capsule: int) -> None:
    for name in (_PLAIN, _VERSIONED):
        if _is_valid(capsule, name):
            _given.pop(_pointer(capsule, name), None)


_DROP, _DROP_UNUSED = (ctypes.cast(one, ctypes.c_void_p).value for one in (_drop, _drop_unused))
_buffers = {form.size: ctypes.c_char * form.size for form in (_PLAIN_FORM, _VERSIONED_FORM)}
_deleters: dict[int, Any] = {}  # Deleters of other packages, by address. A package has one or two.


def exported(address: int, rank: int, sizes: Any, steps: Any, dtype: str, device: tuple[int, int], *, versioned: bool, readonly: bool,
             owner: Any) -> Any:  # fmt: skip
    """Returns a capsule. sizes, steps: rows of int64 of ctypes. They and `owner` are kept until its consumer drops it."""
    elements = (address, *device, rank, *_CODES[dtype], 1, ctypes.addressof(sizes), ctypes.addressof(steps), 0)
    if versioned:
        content, name = _VERSIONED_FORM.pack(1, 0, 0, _DROP, _READ_ONLY if readonly else 0, *elements), _VERSIONED
    else:
        content, name = _PLAIN_FORM.pack(*elements, 0, _DROP), _PLAIN
    made = _buffers[len(content)].from_buffer_copy(content)
    at = ctypes.addressof(made)
    _given[at] = (made, sizes, steps, owner)
    return _new(at, name, _DROP_UNUSED)


def _deleter_at(address: int) -> Any:
    found = _deleters.get(address)
    if found is None:
        found = _deleters[address] = _DELETER(address)
    return found


def _row(address: int, count: int) -> tuple[int, ...]:
    """Reads int64s from host memory."""
    return struct.unpack(f"@{count}q", ctypes.string_at(address, 8 * count)) if count else ()


class Imported:
    """The content of a capsule. It is released when nothing refers to this object."""

    def __init__(self, capsule: Any) -> None:
        self._give_back: Callable[[int], Any] | None = None
        self._managed = 0
        at = id(capsule)
        name = next((one for one in (_VERSIONED, _PLAIN) if _is_valid(at, one)), None)
        if name is None:
            raise errors.InvalidArgumentError("__dlpack__ gave no capsule of a tensor, or one that was used already")
        address = _pointer(at, name)
        form = _VERSIONED_FORM if name is _VERSIONED else _PLAIN_FORM
        told: Any = form.unpack(ctypes.string_at(address, form.size))
        flags = 0
        if name is _VERSIONED:
            major, minor, _, deleter, flags, *told = told
            if major != 1:
                raise BufferError(f"the capsule has version {major}.{minor} of DLPack, expected 1")
        else:
            *told, _, deleter = told
        data, kind, number, rank, code, bits, lanes, sizes, steps, offset = told
        self.device = (kind, number)
        self.is_readonly = bool(flags & _READ_ONLY)
        self.shape = _row(sizes, rank)
        self.strides = _row(steps, rank) if steps else tuple(math.prod(self.shape[axis + 1 :]) for axis in range(rank))
        self.address = data + offset
        self.dtype = _DTYPES.get((code, bits), "") if lanes == 1 else ""
        if not self.dtype:
            raise errors.InvalidArgumentError(f"the elements have code {code}, {bits} bits and {lanes} lanes, which no dtype of a device has")
        _rename(at, _USED[name])
        if deleter:
            self._give_back, self._managed = _deleter_at(deleter), address

    def __del__(self) -> None:
        if self._give_back is not None:
            self._give_back(self._managed)
