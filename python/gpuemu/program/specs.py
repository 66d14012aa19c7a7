"""Shapes and dtypes of values, and how NumPy stores the values of a dtype."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gpuemu import dtypes_generated, tensors
from gpuemu.generate import rounding
from gpuemu.program.errors import DTypeError, ShapeError
from gpuemu.tensors import Array

FLOATS = tuple(name for name, row in dtypes_generated.TABLE.items() if row.kind == "float")
AXES_MAX = 4  # Most axes of the arithmetic kernels.
RANK_MAX = 16  # Most axes of a value, as in common/base/limits.h.
ELEMENTS_MAX = 2**60


class Spec(NamedTuple):
    """Shape and dtype of a value, known before it is computed."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(str(size) for size in self.shape)}]"

    @property
    def spec(self) -> Spec:
        """Returns itself, so that a spec can replace a value of which only the shape is needed."""
        return self

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, packed."""
        return self.elements * dtypes_generated.TABLE[self.dtype].size


def spec_list(outputs: Iterable[Any]) -> list[Spec]:
    """Converts [(shape, dtype)] to specs."""
    return [Spec(tuple(shape), dtype) for shape, dtype in outputs]


def dtype_of(value: Any) -> str:
    """Returns a dtype's name after checking it. Raises DTypeError."""
    if value is None:  # NumPy would read it as float64.
        raise DTypeError("dtype is None, expected a name such as 'float32'")
    try:
        name = value if isinstance(value, str) else getattr(value, "name", None) or np.dtype(value).name
    except TypeError:
        name = repr(value)
    if name not in dtypes_generated.TABLE:
        raise DTypeError(f"'{name}' is no dtype; expected {', '.join(dtypes_generated.DTYPES)}")
    return str(name)


def shape_of(value: Any, what: str = "shape") -> tuple[int, ...]:
    """Returns checked sizes; a number is a shape of one axis. Raises TypeError for a value that is not a shape, ShapeError for a
    size below 0."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        value = (value,)
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError(f"{what} is {value!r}, expected sizes as in (2, 3)")
    sizes = []
    for size in value:
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)):
            raise TypeError(f"{what} has {size!r}, expected whole numbers")
        if size < 0:
            raise ShapeError(f"{what} has the size {size}, expected 0 or more")
        sizes.append(int(size))
    if len(sizes) > RANK_MAX:
        raise ShapeError(f"{what} is {text(sizes)}, which has {len(sizes)} axes, expected {RANK_MAX} at most")
    if (count := math.prod(size or 1 for size in sizes)) > ELEMENTS_MAX:
        raise ShapeError(f"{what} is {text(sizes)}, which has room for {count} elements; no place holds them")
    return tuple(sizes)


def is_float(dtype: str) -> bool:
    """True if values of the dtype are rounded."""
    return dtype in FLOATS


def broadcast(op: str, a: Spec, b: Spec) -> tuple[int, ...]:
    """Returns the broadcast shape of both, with NumPy's rules. Raises ShapeError."""
    try:
        shape = np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ShapeError(f"{op}: {text(a.shape)} and {text(b.shape)} do not broadcast to one shape") from None
    if len(shape) > AXES_MAX:
        raise ShapeError(f"{op}: {text(a.shape)} and {text(b.shape)} have {len(shape)} axes together, expected {AXES_MAX} at most")
    return tuple(int(size) for size in shape)


def text(shape: Sequence[int]) -> str:
    """Formats a shape for messages."""
    return "[" + ", ".join(str(size) for size in shape) + "]"


def axis_of(op: str, axis: Any, shape: Sequence[int]) -> int:
    """Returns an axis counted from 0. Raises ShapeError."""
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)):
        raise TypeError(f"{op}: axis is {axis!r}, expected a whole number")
    if not shape:
        raise ShapeError(f"{op}: axis is {axis}, and x has no axes")
    if not -len(shape) <= axis < len(shape):
        raise ShapeError(f"{op}: axis is {axis}, expected {-len(shape)} to {len(shape) - 1}: x is {text(shape)}")
    return int(axis) % len(shape)


def number_of(what: str, value: Any) -> float:
    """Returns a Python or NumPy number as a float. Raises TypeError with a message that begins with `what`."""
    if isinstance(value, (str, bytes)) or not hasattr(value, "__float__"):
        raise TypeError(f"{what} is {value!r}, expected a number")
    return float(value)


def storage_dtype(dtype: str) -> np.dtype[Any]:
    """Returns NumPy's type for elements of the dtype: for bfloat16 that of ml_dtypes if installed, else uint16 bits."""
    if dtype == "bfloat16":
        return tensors.bfloat16() or np.dtype(np.uint16)
    return np.dtype(dtype)


def wide(array: Array, dtype: str) -> Array:
    """Returns floats as float64, everything else unchanged."""
    if dtype == "bfloat16":
        return rounding.bfloat16_values(array.view(np.uint16)).reshape(array.shape)
    return array.astype(np.float64) if is_float(dtype) else array


def rounded(values: Array, dtype: str) -> Array:
    """Rounds float64 values or integers once to the dtype; returns a new array. Integers wrap around."""
    values = np.asarray(values)
    if is_float(dtype):
        made = rounding.cast(np.ascontiguousarray(values, dtype=np.float64), dtype).reshape(values.shape)
        return made.view(storage_dtype(dtype)) if dtype == "bfloat16" else made
    return values.astype(np.dtype(dtype))


def as_stored(data: Any, dtype: str | None, what: str) -> tuple[Array, str]:
    """Returns a packed copy of any array, nested list or number with the dtype's elements, and the dtype. Without a dtype Python
    floats become float32, and everything else keeps its own."""
    plain = isinstance(data, (int, float, list, tuple)) and not hasattr(data, "dtype")
    try:
        array = tensors.as_array(data, what)
    except ValueError as problem:
        raise ShapeError(f"the {what}: {problem}") from None
    if array.dtype == object or array.dtype.kind in "SUcmM":
        raise DTypeError(f"the {what} is of {array.dtype}, expected {', '.join(dtypes_generated.DTYPES)}")
    kind = str(array.dtype.newbyteorder("=")) if array.dtype.kind != "V" else str(array.dtype)
    wanted = dtype_of(dtype) if dtype is not None else "float32" if plain and array.dtype.kind == "f" else dtype_of(kind)
    if wanted == "bfloat16" and kind == "uint16" and tensors.bfloat16() is None:
        return np.array(array, np.uint16, order="C"), wanted  # Without ml_dtypes, bfloat16 is stored as uint16 bits.
    if kind == wanted:
        return np.array(array, dtype=storage_dtype(wanted), order="C"), wanted
    if is_float(wanted):
        return np.array(rounded(wide(array, kind), wanted), order="C"), wanted
    return np.array(array.astype(np.dtype(wanted)), order="C"), wanted
