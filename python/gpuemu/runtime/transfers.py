"""Transfers content between the host and a device."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

from gpuemu import dtypes_generated
from gpuemu import tensors as arrays
import gpuemu.runtime.errors as errors
import gpuemu.runtime.shapes as shapes
from gpuemu.tensors import Array


def name_of(array: Array) -> str:
    """Returns the dtype of an array. Raises InvalidArgumentError for a type that no device has."""
    name = array.dtype.name
    if name not in dtypes_generated.TABLE:
        raise errors.InvalidArgumentError(f"dtype {array.dtype} is none of a device: expected one of {', '.join(dtypes_generated.DTYPES)}")
    return name


def array_of(value: Any, what: str, dtype: str | None, converts: bool = False) -> Array:
    """Returns row-major elements in this machine's byte order. converts: converts to `dtype`; otherwise the elements must have
    it."""
    is_plain = isinstance(value, (list, tuple, bool, int, float)) and not isinstance(value, np.generic)
    if isinstance(value, (str, bytes)) or value is None:
        raise TypeError(f"{what} is of type {type(value).__name__}, expected an array or nested list")
    try:
        found = np.asarray(value) if is_plain else arrays.as_array(value, what)
    except ValueError as problem:
        raise errors.InvalidArgumentError(f"{what}: {problem}") from None
    if is_plain and found.dtype == np.float64 and not converts:
        found = found.astype(dtype) if dtype in ("float16", "float32") else found
    elif is_plain and found.dtype == np.float64:
        found = found.astype(np.float32) if dtype is None else found
    if found.dtype.byteorder == ">":
        found = found.astype(found.dtype.newbyteorder("="))
    if found.dtype.kind in "OSUVcMm" and found.dtype.name != "bfloat16":
        raise errors.InvalidArgumentError(f"{what} is of dtype {found.dtype}, expected one of {', '.join(dtypes_generated.DTYPES)}")
    if dtype is not None and found.dtype.name != dtype:
        found = _converted(found, what, dtype, converts)
    name_of(found) if not (dtype == "bfloat16" and found.dtype == np.uint16) else None
    return np.ascontiguousarray(found).reshape(found.shape)


def _converted(found: Array, what: str, dtype: str, converts: bool) -> Array:
    if dtype == "bfloat16" and found.dtype == np.uint16:
        return found  # Its bits.
    if not converts:
        raise errors.InvalidArgumentError(f"{what} is {found.dtype.name}{list(found.shape)}, expected {dtype}")
    if dtype != "bfloat16":
        return found.astype(dtype)
    extra = sys.modules.get("ml_dtypes")
    if extra is None:
        import importlib

        try:
            extra = importlib.import_module("ml_dtypes")
        except ImportError:
            raise errors.InvalidArgumentError(f"{what}: rounding to bfloat16 needs the package ml_dtypes; give the bits as uint16") from None
    return found.astype(extra.bfloat16)


def upload(tensor: Any, array: Array, stream: Any) -> None:
    """Copies the array into the tensor, ordered on the stream. Data that is not pinned is copied first."""
    device = tensor._device
    if 0 in tensor._shape:
        return
    is_pinned = _is_pinned(tensor, array)
    graph = stream._graph
    if graph is not None and not is_pinned:
        graph._abort()
        raise errors.CaptureError(f"{graph.name} cannot capture a copy from memory of the host that is not pinned; the capture is over: "
                                  "allocate(kind=\"pinned\") gives such memory")  # fmt: skip
    if not tensor.is_contiguous:
        packed = device.empty(tensor._shape, tensor._dtype, stream=stream)
        upload(packed, array, stream)
        tensor._copy_on_device(packed, stream)
        return
    data = array if is_pinned else array.copy()
    device._check_on(stream, "gpuemu_memory_upload", tensor._address, data.ctypes.data, data.nbytes)
    tensor._note_use(stream)
    if graph is not None:
        graph._hold(data)
    else:
        device._staging.keep(data, stream)


def _is_pinned(tensor: Any, array: Array) -> bool:
    begin, end = array.ctypes.data, array.ctypes.data + array.nbytes
    pinned = dict(tensor._device._pinned)
    return any(address <= begin and end <= address + size for address, size in pinned.items())


def downloaded(stream: Any, address: int, shape: tuple[int, ...], dtype: str) -> Array:
    """Returns row-major elements after the work of the stream."""
    device = stream._device
    whole: Array = np.empty(shape, shapes.numpy_type(dtype))
    if 0 not in shape:
        # The shorter way to the address works only for NumPy's own types.
        seen: Any = whole
        to = whole.__array_interface__["data"][0] if dtype == "bfloat16" else ctypes.addressof(ctypes.c_byte.from_buffer(seen))
        device._download(stream, to, address, whole.nbytes)
    else:
        device._wait_for(stream)
    return whole
