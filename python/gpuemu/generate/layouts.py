"""How the elements of a tensor lie in memory: the layouts of generated cases, as real strided arrays.

    layout = layouts.transposed((3, 5))
    x = layouts.place(np.arange(15.0).reshape(3, 5), layout)      # equal, and x.strides is (8, 24)

Strides and offsets are in elements; they are those that the daemon gives the kernel of the same case.
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
UNUSED = 0xFF  # What the bytes between the elements are: NaN in every floating-point dtype.


@dataclass(frozen=True)
class Layout:
    """strides: one per axis, 0 where all elements along it are one, negative where they lie backwards; offset: of element 0
    from the start of the storage; elements: how many the storage holds."""

    strides: tuple[int, ...]
    offset: int = 0
    elements: int = 1


def contiguous(shape: Sequence[int]) -> Layout:
    """Packed, row by row."""
    return Layout(row_major_strides(shape), 0, math.prod(shape))


def padded(shape: Sequence[int], pad: int) -> Layout:
    """Each row (last axis) is followed by `pad` elements that are not used."""
    if not shape:
        return contiguous(shape)
    wide = [*shape[:-1], shape[-1] + pad]
    return Layout(row_major_strides(wide), 0, math.prod(wide) if math.prod(shape) else 0)


def stepped(shape: Sequence[int], step: int) -> Layout:
    """Neighbours along the last axis lie `step` elements apart; raises ValueError for a step below 1."""
    if step < 1:
        raise ValueError(f"the step is {step}, expected 1 or more elements")
    if not shape:
        return contiguous(shape)
    count = math.prod(shape)
    return Layout(tuple(step * one for one in row_major_strides(shape)), 0, (count - 1) * step + 1 if count else 0)


def transposed(shape: Sequence[int]) -> Layout:
    """The last two axes lie exchanged in memory; contiguous below two axes."""
    if len(shape) < 2:
        return contiguous(shape)
    *outer, row, column = row_major_strides([*shape[:-2], shape[-1], shape[-2]])
    return Layout((*outer, column, row), 0, math.prod(shape))


def _axis(shape: Sequence[int], axis: int) -> int:
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"there is no axis {axis} in a shape of {len(shape)} axes, {list(shape)}")
    return axis % len(shape)


def broadcast(shape: Sequence[int], axis: int) -> Layout:
    """All elements along the axis are one and the same. Raises ValueError where there is no such axis."""
    axis = _axis(shape, axis)
    memory = [min(size, 1) if at == axis else size for at, size in enumerate(shape)]
    strides = row_major_strides(memory)
    return Layout((*strides[:axis], 0, *strides[axis + 1 :]), 0, math.prod(memory))


def backwards(shape: Sequence[int], axis: int) -> Layout:
    """The elements along the axis lie backwards. Raises ValueError where there is no such axis."""
    axis = _axis(shape, axis)
    packed = contiguous(shape)
    if not packed.elements:
        return packed
    stride = packed.strides[axis]
    return Layout((*packed.strides[:axis], -stride, *packed.strides[axis + 1 :]), (shape[axis] - 1) * stride, packed.elements)


def drawn(kind: str, shape: Sequence[int], base_seed: int, iteration: int, name: str, *, every_stride: bool = True,
          outer_strides: bool = True, written: bool = False) -> Layout:  # fmt: skip
    """The layout of tensor `name` in a case whose layout is `kind`, one of KINDS. every_stride, outer_strides: whether the
    kernel is given the strides of all axes, of all but the last; without them a tensor is contiguous. written: it is an output,
    in which no two elements may be one."""
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
    """How many bytes behind an aligned address the storage of tensor `name` begins: a multiple of its alignment, in half of the
    cases 0. align: of gpuemu.toml, in bytes; with the default there is no offset."""
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
    """The same values in memory of this layout: an array that is a view of storage of its own, which begins `base_offset` bytes
    behind an address that is a multiple of ALIGNMENT. Along an axis of stride 0 the first element stands for all. Raises
    ValueError when the layout does not fit the shape."""
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
    # By way of a memoryview the storage ends with its last element, not with what alignment needs: kernels may use all of it.
    own = np.frombuffer(storage.data[start : start + layout.elements * item], np.uint8)
    placed: Array = np.ndarray(values.shape, values.dtype, own, layout.offset * item, strides)  # type: ignore[arg-type,unused-ignore]
    once = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in layout.strides)
    placed[once] = values[once]
    return placed
