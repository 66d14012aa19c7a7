"""Content of the host as devices take it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from gpuemu import dtypes_generated
from gpuemu import tensors as arrays
import gpuemu.runtime.errors as errors
from gpuemu.tensors import Array


def name_of(array: Array) -> str:
    """The dtype of an array. Raises InvalidArgumentError for a type that no device has."""
    name = array.dtype.name
    if name not in dtypes_generated.TABLE:
        raise errors.InvalidArgumentError(f"dtype {array.dtype} is none of a device: expected one of {', '.join(dtypes_generated.DTYPES)}")
    return name


def array_of(value: Any, what: str, dtype: str | None, converts: bool = False) -> Array:
    """Row-major elements of this machine's byte order. converts: to `dtype`, else they have to be of it."""
    is_plain = isinstance(value, (list, tuple, bool, int, float))
    if isinstance(value, (str, bytes)) or value is None:
        raise TypeError(f"{what} is a {type(value).__name__}, expected an array or nested list")
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
