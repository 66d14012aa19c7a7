"""Tensors: memory of a device with a shape, strides and a dtype."""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import numpy as np

import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
import gpuemu.runtime.shapes as shapes
import gpuemu.runtime.sharing as sharing
import gpuemu.runtime.structs as structs
import gpuemu.runtime.transfers as transfers
from gpuemu.runtime.memory import Memory, device_memory
from gpuemu.tensors import Array


class Tensor(library.Unique):
    """Elements of one dtype in memory of a device: Device.empty(), zeros(), tensor(). A view shares the memory of its owner."""

    _memory: Memory
    _device: Any
    _address: int
    _shape: tuple[int, ...]
    _strides: tuple[int, ...]
    _dtype: str
    _readonly = False
    _repeatable: Any = None  # The call that wrote it last; used by calling.py.
    _sizes: Any
    _steps: Any

    def __init__(self) -> None:
        raise TypeError("Tensor is made by empty(), zeros(), tensor() or as_tensor()")

    @classmethod
    def _made(cls, memory: Memory, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, is_readonly: bool = False) -> Tensor:
        self: Tensor = cls.__new__(cls)
        self._memory, self._device = memory, memory._device
        self._address, self._shape, self._strides, self._dtype, self._readonly = address, shape, strides, dtype, is_readonly
        row = ctypes.c_int64 * max(len(shape), 1)
        self._sizes, self._steps = row(*shape), row(*strides)
        return self

    @functools.cached_property
    def _operand(self) -> structs.Operand:
        """The struct for the C interface."""
        shape, strides = ctypes.addressof(self._sizes), ctypes.addressof(self._steps)
        return structs.Operand(self._address, shapes.NUMBERS[self._dtype], len(self._shape), shape, strides)

    shape = property(lambda self: self._shape, doc="A tuple.")
    strides = property(lambda self: self._strides, doc="In elements.")
    dtype = property(lambda self: self._dtype, doc='Its name, as "float32".')
    address = property(lambda self: self._address, doc="Of element 0.")
    device = property(lambda self: self._device, doc="Whose memory it is in.")
    kind = property(lambda self: self._memory.kind, doc='"device", "pinned" or "managed".')
    name = property(lambda self: self._memory.name, doc="That of its memory.")
    is_readonly = property(lambda self: self._readonly, doc="Whether it may not be written.")
    is_freed = property(lambda self: self._memory.is_freed, doc="Whether its memory was freed.")
    rank = property(lambda self: len(self._shape), doc="The number of axes.")
    size = property(lambda self: math.prod(self._shape), doc="The number of elements.")
    nbytes = property(lambda self: math.prod(self._shape) * shapes.SIZES[self._dtype], doc="Of its elements.")

    @property
    def is_contiguous(self) -> bool:
        """True if the elements are contiguous in row-major order."""
        return shapes.is_packed(self._shape, self._strides)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("a tensor of rank 0 has no length")
        return self._shape[0]

    def __bool__(self) -> bool:
        raise TypeError("a tensor is neither true nor false: compare what numpy() gives")

    def __repr__(self) -> str:
        name = f" '{self.name}'" if self.name else ""
        return f"<Tensor{name} {self._dtype}{list(self._shape)} on {self._device.name}{', freed' if self.is_freed else ''}>"

    # --- content

    def numpy(self) -> Array:
        """Returns a copy for the host; waits for the stream that last used it here. Raises KernelError when a kernel failed."""
        block = self._memory._live("the tensor")
        stream = block.last_stream()
        stream._refuse_capture("numpy()")
        if self.is_contiguous:
            return transfers.downloaded(stream, self._address, self._shape, self._dtype)
        item = shapes.SIZES[self._dtype]
        low, high = shapes.reach(self._shape, self._strides)
        buffer: Array = np.empty((high - low + 1) * item, np.uint8)
        if buffer.size:
            self._device._check_on(stream, "gpuemu_memory_download", buffer.ctypes.data, self._address + low * item, buffer.size)
        self._device._wait_for(stream)
        steps = tuple(one * item for one in self._strides)
        kind = shapes.numpy_type(self._dtype)
        return np.array(np.ndarray(self._shape, kind, buffer, -low * item, steps) if buffer.size else np.empty(self._shape, kind), order="C")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Returns the elements without a copy if the host can access the memory: on the emulator, and pinned or managed. Waits
        like numpy(). Device memory of the emulator is read-only, because the emulator could not detect writes by the host. Raises
        TypeError for other memory.
        """
        return sharing.array(self, dtype, copy)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns kind and number of the device, as DLPack defines them."""
        return sharing.dlpack_device(self)

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        """Returns the elements for another package, without a copy unless copy=True. The memory is kept until that package drops
        it, including after free(), and counts as written. It is ready when this returns, on a GPU in the order of `stream`."""
        return sharing.capsule(self, stream, max_version, dl_device, copy)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the interface, for a tensor on a GPU."""
        return sharing.cuda_array_interface(self)

    def copy_from(self, source: Any, *, stream: Any = None) -> None:
        """Copies the content of a Tensor or array of the same shape and dtype. Host data is copied first, so the caller may
        change it at once. A copy between devices goes through the host and waits."""
        self._memory._live("the tensor")
        self._insist_writable("copy_from()")
        chosen = self._device._stream(stream)
        if isinstance(source, Tensor):
            self._insist_same(source.shape, source.dtype)
            source._memory._live("source")
            if source._device is self._device:
                self._copy_on_device(source, chosen)
                return
            source = source.numpy()
        array = transfers.array_of(source, "source", self._dtype)
        self._insist_same(array.shape, self._dtype)
        transfers.upload(self, array, chosen)

    def _insist_same(self, shape: tuple[int, ...], dtype: str) -> None:
        if tuple(shape) != self._shape or dtype != self._dtype:
            raise errors.InvalidArgumentError(f"source is {dtype}{list(shape)}, expected {self._dtype}{list(self._shape)}")

    def _insist_writable(self, what: str) -> None:
        if self._readonly:
            raise errors.InvalidArgumentError(f"{what} writes, and the tensor is read-only")

    def _copy_on_device(self, source: Tensor, stream: Any) -> None:
        if 0 in self._shape:
            return
        if self.is_contiguous and source.is_contiguous:
            self._device._check_on(stream, "gpuemu_memory_copy", self._address, source._address, self.nbytes)
            for one in (self, source):
                one._note_use(stream)
        else:
            call = structs.Call(struct_bytes=ctypes.sizeof(structs.Call))
            self._device._issue("copy", call, [source], [self], stream)

    def _note_use(self, stream: Any) -> None:
        block = self._memory._live()
        block.used_by(stream)
        if stream._graph is not None:
            stream._graph._keep(self._memory, block)

    def fill(self, value: int, *, stream: Any = None) -> None:
        """Sets every byte to `value`, 0 to 255."""
        self._memory._live("the tensor")
        self._insist_writable("fill()")
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"value is of type {type(value).__name__}, expected an int of 0 to 255")
        if not 0 <= value.__index__() <= 255:
            raise errors.InvalidArgumentError(f"value is {value}, expected 0 to 255: fill() sets bytes")
        chosen = self._device._stream(stream)
        if 0 in self._shape:
            return
        if self.is_contiguous:
            self._device._check_on(chosen, "gpuemu_memory_fill", self._address, value, self.nbytes)
            self._note_use(chosen)
            return
        packed = empty(self._device, self._shape, self._dtype, stream=chosen)
        packed.fill(value, stream=chosen)
        self._copy_on_device(packed, chosen)

    def free(self) -> None:
        """Frees the memory, and with it every view, after the work that uses it. May be called twice."""
        self._memory.free()

    # --- views

    def _viewed(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        return Tensor._made(self._memory, self._address + offset * shapes.SIZES[self._dtype], shape, strides, self._dtype, self._readonly)

    def view(self, *shape: Any) -> Tensor:
        """Returns the same elements in another shape; one size may be -1. Raises InvalidArgumentError unless it is contiguous."""
        self._memory._live("the tensor")
        sizes = shapes.reshaped(self._shape, shape[0] if len(shape) == 1 else shape)
        if not self.is_contiguous:
            raise errors.InvalidArgumentError(f"view() needs a contiguous tensor, this one has the strides {self._strides}")
        return self._viewed(0, sizes, shapes.packed_strides(sizes))

    def transpose(self, *axes: Any) -> Tensor:
        """Returns a view with another order of the axes; by default the reverse."""
        self._memory._live("the tensor")
        order = (axes[0] if len(axes) == 1 else axes) if axes else tuple(reversed(range(self.rank)))
        places = shapes.axes_in_order(order, self.rank)
        return self._viewed(0, tuple(self._shape[one] for one in places), tuple(self._strides[one] for one in places))

    def __getitem__(self, index: Any) -> Tensor:
        self._memory._live("the tensor")
        return self._viewed(*shapes.indexed(self._shape, self._strides, index))

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))


class Layout:
    """Everything of a tensor except its memory."""

    __slots__ = ("_dtype", "_shape", "_sizes", "_steps", "_strides", "label", "nbytes")

    def __init__(self, tensor: Tensor) -> None:
        self.label, self.nbytes = f"{tensor._dtype}{list(tensor._shape)}".encode(), tensor._memory.nbytes
        self._shape, self._strides, self._dtype = tensor._shape, tensor._strides, tensor._dtype
        self._sizes, self._steps = tensor._sizes, tensor._steps

    def numpy(self, block: Any) -> Array:
        """Equals over(memory).numpy() for the memory of the block. REQUIRES: the layout is contiguous."""
        if block.device.is_closed or library.is_forked():
            return self.over(device_memory(block, self.nbytes, "")).numpy()  # Raises the error.
        stream = block.last_stream()
        stream._refuse_capture("numpy()")
        return transfers.downloaded(stream, block.address, self._shape, self._dtype)

    def over(self, memory: Memory) -> Tensor:
        """Returns a tensor that covers all of the memory."""
        made: Tensor = Tensor.__new__(Tensor)
        made._memory, made._device, made._address = memory, memory._device, memory._address
        made._shape, made._strides, made._dtype, made._sizes, made._steps = self._shape, self._strides, self._dtype, self._sizes, self._steps
        return made


def empty(device: Any, shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
    """Returns a Tensor with undefined content."""
    sizes, kinds = shapes.check_shape(shape), shapes.check_dtype(dtype)
    steps = shapes.packed_strides(sizes) if strides is None else shapes.whole_numbers("strides", strides)
    if len(steps) != len(sizes) or any(one < 0 for one in steps):
        raise errors.InvalidArgumentError(f"strides are {steps}, expected {len(sizes)} values from 0")
    count = (shapes.reach(sizes, steps)[1] + 1) * shapes.SIZES[kinds]
    memory = device._allocate(count, kind, stream, name, f"{kinds}{list(sizes)}")
    return Tensor._made(memory, memory.address, sizes, steps, kinds)


def zeros(device: Any, shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
    """Returns a Tensor of zeros."""
    made = empty(device, shape, dtype, kind=kind, strides=strides, stream=stream, name=name)
    chosen = made._device._stream(stream)
    if made._memory.nbytes:
        # Gaps between the elements become zero, too.
        made._device._check_on(chosen, "gpuemu_memory_fill", made._memory.address, 0, made._memory.nbytes)
        made._note_use(chosen)
    return made


def tensor(device: Any, array: Any, *, dtype: str | None = None, kind: str = "device", stream: Any = None, name: str = "") -> Tensor:
    """Copies an array or nested list to a new Tensor."""
    if isinstance(array, Tensor):
        array = array.numpy() if dtype is not None or array._device is not device else array
    if isinstance(array, Tensor):
        made = empty(device, array.shape, array.dtype, kind=kind, stream=stream, name=name)
        made.copy_from(array, stream=stream)
        return made
    found = transfers.array_of(array, "array", None if dtype is None else shapes.check_dtype(dtype), converts=True)
    made = empty(device, found.shape, dtype or transfers.name_of(found), kind=kind, stream=stream, name=name)
    transfers.upload(made, found, made._device._stream(stream))
    return made


def address_range(one: Tensor) -> tuple[int, int]:
    """Returns the byte range of its elements: the first address, and the one after the last."""
    low, high = shapes.reach(one._shape, one._strides)
    item = shapes.SIZES[one._dtype]
    return one._address + low * item, one._address + (high + 1) * item

