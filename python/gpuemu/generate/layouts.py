"""The memory layouts of generated cases, as real strided arrays.

    layout = layouts.transposed((3, 5))
    x = layouts.place(np.arange(15.0).reshape(3, 5), layout)      # equal, and x.strides is (8, 24)

Strides and offsets are in elements, and equal to those that the daemon passes to the kernel of the same case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpuemu.generate import rng, words_generated
from gpuemu.generate.legacy import row_major_strides
from gpuemu.tensors import Array

KINDS = words_generated.LAYOUTS
ALIGNMENT = 256  # Alignment of allocations in bytes.
UNUSED = 0xFF  # Value of the bytes between the elements: NaN in every floating-point dtype.


@dataclass(frozen=True)
class Layout:
    """strides: one per axis, 0 if all indices along it refer to one element, negative if the elements are in reverse order;
    offset: of element 0 from the start of the storage; elements: how many the storage holds."""

    strides: tuple[int, ...]
    offset: int = 0
    elements: int = 1


def contiguous(shape: Sequence[int]) -> Layout:
    """Returns a packed row-major layout."""
    return Layout(row_major_strides(shape), 0, math.prod(shape))


def padded(shape: Sequence[int], pad: int) -> Layout:
    """Returns a layout in which each row (last axis) is followed by `pad` unused elements."""
    if not shape:
        return contiguous(shape)
    wide = [*shape[:-1], shape[-1] + pad]
    return Layout(row_major_strides(wide), 0, math.prod(wide) if math.prod(shape) else 0)


def stepped(shape: Sequence[int], step: int) -> Layout:
    """Returns a layout in which neighbours along the last axis are `step` elements apart. Raises ValueError for a step below
    1."""
    if step < 1:
        raise ValueError(f"the step is {step}, expected 1 or more elements")
    if not shape:
        return contiguous(shape)
    count = math.prod(shape)
    return Layout(tuple(step * one for one in row_major_strides(shape)), 0, (count - 1) * step + 1 if count else 0)


def transposed(shape: Sequence[int]) -> Layout:
    """Returns a layout with the last two axes exchanged in memory; contiguous for fewer than two axes."""
    if len(shape) < 2:
        return contiguous(shape)
    *outer, row, column = row_major_strides([*shape[:-2], shape[-1], shape[-2]])
    return Layout((*outer, column, row), 0, math.prod(shape))


def _axis(shape: Sequence[int], axis: int) -> int:
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"there is no axis {axis} in a shape of {len(shape)} axes, {list(shape)}")
    return axis % len(shape)


def broadcast(shape: Sequence[int], axis: int) -> Layout:
    """Returns a layout in which all indices along the axis refer to one element. Raises ValueError if there is no such axis."""
    axis = _axis(shape, axis)
    memory = [min(size, 1) if at == axis else size for at, size in enumerate(shape)]
    strides = row_major_strides(memory)
    return Layout((*strides[:axis], 0, *strides[axis + 1 :]), 0, math.prod(memory))


def backwards(shape: Sequence[int], axis: int) -> Layout:
    """Returns a layout with the elements along the axis in reverse order. Raises ValueError if there is no such axis."""
    axis = _axis(shape, axis)
    packed = contiguous(shape)
    if not packed.elements:
        return packed
    stride = packed.strides[axis]
    return Layout((*packed.strides[:axis], -stride, *packed.strides[axis + 1 :]), (shape[axis] - 1) * stride, packed.elements)


def drawn(kind: str, shape: Sequence[int], base_seed: int, iteration: int, name: str, *, every_stride: bool = True,
          outer_strides: bool = True, written: bool = False) -> Layout:  # fmt: skip
    """Returns the layout of tensor `name` in a case whose layout is `kind`, one of KINDS. every_stride, outer_strides: True if
    the kernel gets the strides of all axes, or of all but the last; without them a tensor is contiguous. written: it is an
    output, in which no two elements may share memory."""
    if kind not in KINDS:
        raise ValueError(f"layout '{kind}' is unknown, expected one of {', '.join(KINDS)}")
    if kind == "contiguous" or (kind == "transposed" and not every_stride):
        return contiguous(shape)
    if kind == "transposed":
        return transposed(shape)
    stream = rng.Stream(base_seed, iteration, "strides/" + name)
    if kind != "strided":
        if not every_stride or not shape:
            return contiguous(shape)
        axis = stream.below(len(shape))
        if kind == "reversed":
            return backwards(shape, axis)
        return contiguous(shape) if written else broadcast(shape, axis)
    which = stream.below(3)
    if every_stride and (which == 2 or len(shape) < 2):
        return stepped(shape, 2)
    return padded(shape, 1 if which == 0 else 16) if outer_strides else contiguous(shape)


def base_offset(base_seed: int, iteration: int, name: str, item_bytes: int, align: int = ALIGNMENT) -> int:
    """Returns how many bytes after an aligned address the storage of tensor `name` begins: a multiple of its alignment, and 0 in
    half of the cases. align: of gpuemu.toml, in bytes; the default allows no offset."""
    unit = max(align, item_bytes)
    if unit >= ALIGNMENT:
        return 0
    stream = rng.Stream(base_seed, iteration, "offset/" + name)
    steps = stream.below(ALIGNMENT // unit)
    return steps * unit if stream.negative() else 0


def _insist(shape: Sequence[int], layout: Layout) -> None:
    if len(layout.strides) != len(shape):
        raise ValueError(f"the layout has {len(layout.strides)} strides, the array {len(shape)} axes ({list(shape)})")
    reach = [stride * (size - 1) for stride, size in zip(layout.strides, shape)]
    first = layout.offset + sum(one for one in reach if one < 0)
    last = layout.offset + sum(one for one in reach if one > 0)
    if math.prod(shape) and not 0 <= first <= last < layout.elements:
        raise ValueError(f"elements {first} to {last} are used of a storage of {layout.elements}: {layout} does not fit {list(shape)}")


def place(values: Array, layout: Layout, base_offset: int = 0) -> Array:
    """Returns the same values in memory of this layout: an array that is a view of its own storage, which begins `base_offset`
    bytes after a multiple of ALIGNMENT. Along an axis of stride 0 the first element is used. Raises ValueError when the layout
    does not fit the shape."""
    values = np.asarray(values)
    _insist(values.shape, layout)
    if base_offset < 0:
        raise ValueError(f"base_offset is {base_offset}, expected 0 or more bytes")
    item = values.dtype.itemsize
    storage = np.full(ALIGNMENT + base_offset + layout.elements * item, UNUSED, dtype=np.uint8)
    start = -storage.ctypes.data % ALIGNMENT + base_offset
    strides = tuple(stride * item for stride in layout.strides)
    if values.size == 0:
        return np.empty(values.shape, dtype=values.dtype)
    # A memoryview ends the storage at its last element, without the padding for alignment, because kernels may use all of the
    # storage.
    own = np.frombuffer(storage.data[start : start + layout.elements * item], np.uint8)
    placed: Array = np.ndarray(values.shape, values.dtype, own, layout.offset * item, strides)  # type: ignore[arg-type,unused-ignore]
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in layout.strides)
    placed[once] = values[once]
    return placed
