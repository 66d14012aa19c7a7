"""Locates the elements of arguments in memory: the array's view of its storage, and the storages that the arguments of a launch
share.

A kernel gets the address of element 0 and the caller's strides. So the device needs the storage as it is: with the elements
between those of a view and those before it (negative strides start at the end), and with one memory for two views of it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpuemu import tensors
from gpuemu.errors import LaunchError
from gpuemu.tensors import Array

BOUNDS = ("view", "storage")
WHOLE_MOST = 256 << 20  # In bytes. For a larger storage only the range of the view is copied to the device.
ALIGNMENT = 256  # Alignment of device buffers in bytes.
# The largest alignment that compilers require of pointers; device addresses keep a storage's offset from it.
_ADDRESS_ALIGNMENT = 16
_HOST = "host"


@dataclass(frozen=True)
class View:
    """An array's place in memory. address: of the element whose indices are all 0; strides: in bytes; start, end: the addresses
    of the storage that a kernel may use; space: the address space of these; refusal: why nothing can be written there."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    start: int
    end: int
    read: Callable[[int, int], Array]
    write: Callable[[int, Array, Array], None]
    refusal: str = ""
    space: str = _HOST
    owner: Any = None  # Keeps the memory alive.
    storage: tuple[int, int] = (0, 0)  # Start and end of the framework's allocation; (0, 0) if they equal start and end.

    @property
    def span(self) -> tuple[int, int]:
        """Returns the addresses of the first byte of the elements and of the byte after the last."""
        return _span(self.address, self.shape, self.strides, self.dtype.itemsize)

    @property
    def beyond(self) -> int:
        """Returns how many bytes of the storage the kernel may not use."""
        low, high = self.storage
        return max(0, high - low - (self.end - self.start)) if high - low <= WHOLE_MOST else 0

    def fills(self) -> bool:
        """True if every byte of the storage belongs to an element, in row-major order."""
        packed = self.strides == _packed(self.shape, self.dtype.itemsize) or not _count(self.shape)
        return packed and self.span == (self.start, self.end)

    def like(self) -> Array:
        """Returns a NumPy array with the same shape, strides and flags, whose elements must not be used."""
        made = np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, self.strides)
        if self.refusal:
            made.flags.writeable = False
        return made


@dataclass
class Region:
    """A storage that overlaps that of no other argument, with the views of it. On the device its first byte has the same offset
    from a multiple of 16 as here."""

    views: list[View] = field(default_factory=list)
    start: int = 0
    end: int = 0

    @property
    def bytes(self) -> int:
        return self.end - self.start

    @property
    def name(self) -> str:
        """The names of its arguments, for findings."""
        return ", ".join(dict.fromkeys(one.name for one in self.views))

    @property
    def shift(self) -> int:
        """Bytes before the storage in the buffer of a device."""
        return self.start % _ADDRESS_ALIGNMENT

    def read(self) -> Array:
        """Returns the bytes of the storage."""
        found = np.zeros(self.bytes, np.uint8)
        for start, end in {(one.start, one.end): one for one in self.views}:
            found[start - self.start : end - self.start] = self._view_at(start, end).read(start, end)
        return found

    def _view_at(self, start: int, end: int) -> View:
        """Returns the view with this storage, a writable one if possible."""
        found = [one for one in self.views if (one.start, one.end) == (start, end)]
        return min(found, key=lambda one: bool(one.refusal))

    def insist_on_writing(self, changed: Array) -> None:
        """Raises LaunchError if the kernel changed bytes that belong to no writable argument."""
        left = changed.copy()
        for one in self.views:
            if not one.refusal:
                left[one.start - self.start : one.end - self.start] = False
        if left.any():
            at = self.start + int(left.argmax())
            one = next(one for one in self.views if one.start <= at < one.end)
            raise LaunchError(f"the kernel wrote to argument '{one.name}', {one.refusal}")

    def write(self, after: Array, changed: Array) -> None:
        """Writes the changed bytes, and only those, to the callers' arrays."""
        for start, end in {(one.start, one.end) for one in self.views if not one.refusal}:
            here = slice(start - self.start, end - self.start)
            if changed[here].any():
                self._view_at(start, end).write(start, after[here], changed[here])

    def outside(self, changed: Array) -> int:
        """Returns how many changed bytes belong to no element of any argument."""
        if not changed.any() or any(one.fills() for one in self.views):
            return 0
        left = changed.copy()
        for one in self.views:
            if _count(one.shape):
                elements = np.ndarray((*one.shape, one.dtype.itemsize), np.bool_, left.data, one.address - self.start, (*one.strides, 1))
                elements[...] = False
        return int(left.sum())


def regions_of(views: Sequence[View]) -> list[Region]:
    """Groups views into regions by overlapping storages; an empty array has its own region."""
    made: list[Region] = []
    before = None
    for one in sorted((one for one in views if one.end > one.start), key=lambda one: (one.space, one.start)):
        if before is not None and before.space == one.space and one.start < made[-1].end:
            made[-1].views.append(one)
            made[-1].end = max(made[-1].end, one.end)
        else:
            made.append(Region([one], one.start, one.end))
        before = one
    return made + [Region([one], one.start, one.end) for one in views if one.end <= one.start]


def view_of(value: Any, name: str, bounds: str = "view") -> View:
    """Returns the view of an array of NumPy, PyTorch, CuPy, JAX or TensorFlow. bounds: "view", from its first element to its
    last, or "storage", the framework's allocation. Raises LaunchError for a value without elements in memory."""
    if hasattr(value, "untyped_storage"):
        found = _torch(value, name)
    elif tensors.is_cupy(value):
        found = _cupy(value, name)
    else:
        found = _numpy(value, name)
    if not _count(found.shape):
        return _between(found, found.address, found.address)
    low, high = found.span
    if bounds == "view" or not found.start <= low <= high <= found.end:
        return _between(found, low, high)
    if found.end - found.start > WHOLE_MOST:  # Starts at a multiple of the alignment, like the storage itself.
        return _between(found, low - (low - found.start) % ALIGNMENT, high)
    return found


def _between(view: View, start: int, end: int) -> View:
    return View(**{**vars(view), "start": start, "end": end, "storage": (view.start, view.end)})


def _count(shape: Sequence[int]) -> int:
    return int(np.prod(shape, dtype=object)) if len(shape) else 1


def _packed(shape: Sequence[int], item: int) -> tuple[int, ...]:
    made: list[int] = []
    for size in reversed(shape):
        made.insert(0, item)
        item *= size
    return tuple(made)


def _span(address: int, shape: Sequence[int], strides: Sequence[int], item: int) -> tuple[int, int]:
    if not _count(shape):
        return address, address
    reach = [stride * (size - 1) for stride, size in zip(strides, shape)]
    return address + sum(one for one in reach if one < 0), address + sum(one for one in reach if one > 0) + item


# --- memory of this process


def _host_bytes(start: int, end: int) -> Array:
    memory: Any = (ctypes.c_uint8 * (end - start)).from_address(start)
    return np.frombuffer(memory, np.uint8)


def _write_host(start: int, after: Array, changed: Array) -> None:
    np.copyto(_host_bytes(start, start + len(after)), after, where=changed)


def _numpy(value: Any, name: str) -> View:
    what = f"argument '{name}'"
    try:
        array = tensors.as_array(value, what)
    except TypeError as problem:
        raise LaunchError(str(problem)) from None
    refusal = ""
    if not isinstance(value, np.ndarray):
        refusal = f"a {type(value).__name__} that cannot be changed in place: pass an array of NumPy or CuPy or a torch tensor"
    elif not array.flags.writeable:
        refusal = "which is a read-only array"
    root = _root(array)
    start, end = _span(root.ctypes.data, root.shape, root.strides, root.itemsize)
    return View(name, array.dtype, array.shape, array.strides, array.ctypes.data, start, end, _host_bytes, _write_host, refusal, owner=array)


def _root(array: Any) -> Array:
    """Returns the array that owns this array's memory; the array itself if no other array owns it."""
    root, base = array, getattr(array, "base", None)
    while base is not None:
        if isinstance(base, np.ndarray):
            root = base
        base = getattr(base, "base", None)  # as_strided inserts its own object in between.
    return np.asarray(root)


# --- PyTorch


def _torch(value: Any, name: str) -> View:
    import torch

    tensor, what = value.detach(), f"argument '{name}'"
    if tensor.layout != torch.strided:
        raise LaunchError(f"{what} is a tensor of layout {tensor.layout}, expected a dense one: pass .to_dense(), or its parts")
    for lazy, method in ((tensor.is_conj(), "resolve_conj"), (tensor.is_neg(), "resolve_neg")):
        if lazy:
            raise LaunchError(f"{what} is a tensor whose memory has other values than it: pass .{method}()")
    kind = _torch_dtype(tensor.dtype)
    strides = tuple(one * kind.itemsize for one in tensor.stride())
    try:
        storage = tensor.untyped_storage()
        start = storage.data_ptr()
        end, address = start + storage.nbytes(), start + tensor.storage_offset() * kind.itemsize
    except (RuntimeError, NotImplementedError) as problem:  # Raised by fake tensors and inside vmap.
        raise LaunchError(f"{what} is of type {type(value).__name__} without memory of its own: {problem}") from None
    if tensor.device.type == "cpu":
        return View(name, kind, tuple(tensor.shape), strides, address, start, end, _host_bytes, _write_host, owner=tensor)
    if tensor.device.type != "cuda":
        raise LaunchError(f"{what} is a tensor on '{tensor.device}', expected one on the CPU or a GPU")

    def flat() -> Any:
        return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)

    def read(low: int, high: int) -> Array:
        return np.asarray(flat()[low - start : high - start].cpu().numpy())

    def write(low: int, after: Array, changed: Array) -> None:
        flat()[low - start : low - start + len(after)].copy_(torch.from_numpy(after.copy()))

    space = f"cuda:{tensor.device.index or 0}"
    return View(name, kind, tuple(tensor.shape), strides, address, start, end, read, write, space=space, owner=tensor)


def _torch_dtype(dtype: Any) -> np.dtype[Any]:
    """Returns NumPy's type for these elements; if it has none, a type of the same size."""
    name = str(dtype).removeprefix("torch.")
    try:
        return np.dtype(name)
    except TypeError:
        pass
    try:
        import ml_dtypes

        kind: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return kind
    except (ImportError, AttributeError):
        return np.dtype(f"V{dtype.itemsize}")


# --- CuPy


def _cupy(value: Any, name: str) -> View:
    import cupy

    def extent(array: Any) -> tuple[int, int]:
        told = array.__cuda_array_interface__
        strides = told.get("strides") or _packed(told["shape"], array.dtype.itemsize)
        return _span(told["data"][0], told["shape"], strides, array.dtype.itemsize)

    def flat(low: int, high: int) -> Any:
        memory = cupy.cuda.UnownedMemory(low, high - low, value)
        return cupy.ndarray((high - low,), cupy.uint8, cupy.cuda.MemoryPointer(memory, 0))

    def read(low: int, high: int) -> Array:
        return np.asarray(flat(low, high).get())

    def write(low: int, after: Array, changed: Array) -> None:
        flat(low, low + len(after)).set(after)

    told = value.__cuda_array_interface__
    kind, shape = np.dtype(value.dtype), tuple(told["shape"])
    strides = tuple(told.get("strides") or _packed(shape, kind.itemsize))
    root = value
    while getattr(root, "base", None) is not None:
        root = root.base
    refusal = "which is a read-only array" if told["data"][1] else ""
    start, end = extent(root)
    space = f"cuda:{getattr(getattr(value, 'device', None), 'id', 0)}"
    return View(name, kind, shape, strides, told["data"][0], start, end, read, write, refusal, space, value)
