"""Shapes, strides and dtypes of tensors: checks, and positions of elements."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuemu import dtypes_generated
import gpuemu.runtime.errors as errors

RANK_MAX = 16  # As in common/base/limits.h.
NUMBERS = {name: number for number, name in enumerate(dtypes_generated.DTYPES)}
SIZES = {name: info.size for name, info in dtypes_generated.TABLE.items()}
_ELEMENTS_MAX = 2**60


def check_dtype(dtype: Any) -> str:
    """Returns the name. Raises InvalidArgumentError unless it is one of the 13."""
    if not isinstance(dtype, str):
        raise TypeError(f"dtype is of type {type(dtype).__name__}, expected a name such as \"float32\"")
    if dtype not in NUMBERS:
        raise errors.InvalidArgumentError(f"no dtype '{dtype}', expected one of {', '.join(NUMBERS)}")
    return dtype


def whole_numbers(what: str, values: Any) -> tuple[int, ...]:
    """Returns a tuple; one number becomes a tuple of one. Raises TypeError with a message that begins with `what`."""
    if isinstance(values, (str, bytes)) or not (hasattr(values, "__index__") or hasattr(values, "__iter__")):
        raise TypeError(f"{what} is of type {type(values).__name__}, expected a tuple of int")
    try:
        listed = tuple(values)
    except TypeError:
        listed = (values,)
    made = []
    for one in listed:
        try:
            made.append(operator.index(one))
        except TypeError:
            one_is = type(one).__name__
        else:
            one_is = "bool" if isinstance(one, (bool, np.bool_)) else ""
        if one_is:
            raise TypeError(f"{what} has a value of type {one_is}, expected a tuple of int")
    return tuple(made)


def check_shape(shape: Any) -> tuple[int, ...]:
    """Returns a tuple. Raises InvalidArgumentError for negative sizes, too many axes or too many elements."""
    sizes = whole_numbers("shape", shape)
    if len(sizes) > RANK_MAX:
        raise errors.InvalidArgumentError(f"shape {sizes} has rank {len(sizes)}, expected at most {RANK_MAX}")
    if any(one < 0 for one in sizes):
        raise errors.InvalidArgumentError(f"shape {sizes} has a negative size")
    if (count := math.prod(one or 1 for one in sizes)) > _ELEMENTS_MAX:
        raise errors.OutOfMemoryError(f"shape {sizes} has axes for {count} elements, which no device holds")
    return sizes


def packed_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns row-major strides in elements."""
    strides, step = [], 1
    for one in reversed(shape):
        strides.append(step)
        step *= max(one, 1)
    return tuple(reversed(strides))


def reach(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """Returns the smallest and the largest offset of an element, relative to element 0; (0, -1) without elements."""
    if 0 in shape:
        return 0, -1
    steps = [stride * (one - 1) for one, stride in zip(shape, strides)]
    return sum(one for one in steps if one < 0), sum(one for one in steps if one > 0)


def numpy_type(dtype: str) -> np.dtype[Any]:
    """Returns NumPy's type; for bfloat16 that of ml_dtypes if it is imported, else uint16."""
    if dtype != "bfloat16":
        return np.dtype(dtype)
    extra = sys.modules.get("ml_dtypes")
    return np.dtype(np.uint16) if extra is None else np.dtype(extra.bfloat16)


def is_packed(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """True if the elements are contiguous in row-major order."""
    expected = packed_strides(shape)
    return tuple(strides) == expected or 0 in shape or all(one == 1 or a == b for one, a, b in zip(shape, strides, expected))


def reshaped(shape: tuple[int, ...], wanted: Any) -> tuple[int, ...]:
    """Returns the sizes of a view of all elements; one of them may be -1."""
    count, sizes = math.prod(shape), list(whole_numbers("shape", wanted))
    if sizes.count(-1) == 1:
        rest = math.prod(one for one in sizes if one != -1)
        sizes[sizes.index(-1)] = count // rest if rest else 0
    made = check_shape(sizes)
    if math.prod(made) != count:
        raise errors.InvalidArgumentError(f"shape {made} has {math.prod(made)} elements, the tensor has {count}")
    return made


def axes_in_order(axes: Any, rank: int) -> list[int]:
    """Returns an order of all axes, each counted from 0."""
    order = whole_numbers("axes", axes)
    places = [one + rank if one < 0 else one for one in order]
    if sorted(places) != list(range(rank)):
        raise errors.InvalidArgumentError(f"axes {order} are no order of the {rank} axes")
    return places


def indexed(shape: Sequence[int], strides: Sequence[int], index: Any) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Returns the first element, sizes and strides of the part that ints and slices select."""
    rank = len(shape)
    parts = list(index) if isinstance(index, tuple) else [index]
    dots = [place for place, part in enumerate(parts) if part is Ellipsis]
    if len(dots) > 1:
        raise errors.InvalidArgumentError("an index has one '...' at most")
    if dots:
        parts[dots[0] : dots[0] + 1] = [slice(None)] * (rank - len(parts) + 1)
    if len(parts) > rank:
        raise errors.InvalidArgumentError(f"{len(parts)} indices for a tensor of rank {rank}")
    offset, sizes, steps = 0, [], []
    for axis, size in enumerate(shape):
        part = parts[axis] if axis < len(parts) else slice(None)
        if isinstance(part, slice):
            begin, end, step = part.indices(size)
            count = len(range(begin, end, step))
            offset += begin * strides[axis] if count else 0
            sizes.append(count)
            steps.append(step * strides[axis])
        elif isinstance(part, bool) or not hasattr(part, "__index__") or getattr(part, "ndim", 0) != 0:
            raise TypeError(f"an index is of type {type(part).__name__}, expected ints and slices")
        else:
            place = part.__index__()
            if not -size <= place < size:
                raise errors.InvalidArgumentError(f"index {place} is out of range for axis {axis} of {size}")
            offset += (place + size if place < 0 else place) * strides[axis]
    return offset, tuple(sizes), tuple(steps)
