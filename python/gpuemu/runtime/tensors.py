"""Tensors: memory of a device with a shape, strides and a dtype."""

from __future__ import annotations

import ctypes
import functools
import math
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuemu import dtypes_generated
import gpuemu.runtime.dlpack as dlpack
import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
import gpuemu.runtime.structs as structs
import gpuemu.runtime.uploading as uploading
from gpuemu.runtime.memory import Memory, device_memory
from gpuemu.tensors import Array

RANK_MAX = 16  # As common/base/limits.h has it.
_NUMBERS = {name: number for number, name in enumerate(dtypes_generated.DTYPES)}
_SIZES = {name: info.size for name, info in dtypes_generated.TABLE.items()}
_ELEMENTS_MAX = 2**60


def check_dtype(dtype: Any) -> str:
    """The name. Raises InvalidArgumentError for what is none of the 13."""
    if not isinstance(dtype, str):
        raise TypeError(f"dtype is a {type(dtype).__name__}, expected a name such as \"float32\"")
    if dtype not in _NUMBERS:
        raise errors.InvalidArgumentError(f"no dtype '{dtype}', expected one of {', '.join(_NUMBERS)}")
    return dtype


def _whole(what: str, values: Any) -> tuple[int, ...]:
    if isinstance(values, (str, bytes)) or not (hasattr(values, "__index__") or isinstance(values, Sequence) or hasattr(values, "__iter__")):
        raise TypeError(f"{what} is a {type(values).__name__}, expected a tuple of int")
    listed = (values,) if hasattr(values, "__index__") else tuple(values)
    for one in listed:
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"{what} has a {type(one).__name__} in it, expected a tuple of int")
    return tuple(one.__index__() for one in listed)


def check_shape(shape: Any) -> tuple[int, ...]:
    """As a tuple. Raises InvalidArgumentError for negative sizes, too many axes or too many elements."""
    sizes = _whole("shape", shape)
    if len(sizes) > RANK_MAX:
        raise errors.InvalidArgumentError(f"shape {sizes} has rank {len(sizes)}, expected at most {RANK_MAX}")
    if any(one < 0 for one in sizes):
        raise errors.InvalidArgumentError(f"shape {sizes} has a negative size")
    if math.prod(one or 1 for one in sizes) > _ELEMENTS_MAX:
        raise errors.OutOfMemoryError(f"shape {sizes} has {math.prod(sizes)} elements, which no device holds")
    return sizes


def packed_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major, in elements."""
    strides, step = [], 1
    for one in reversed(shape):
        strides.append(step)
        step *= max(one, 1)
    return tuple(reversed(strides))


def _reach(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The first and the last element that are reached, from element 0; (0, -1) without elements."""
    if 0 in shape:
        return 0, -1
    steps = [stride * (one - 1) for one, stride in zip(shape, strides)]
    return sum(one for one in steps if one < 0), sum(one for one in steps if one > 0)


def numpy_type(dtype: str) -> np.dtype[Any]:
    """NumPy's type; for bfloat16 that of ml_dtypes where it is imported, else uint16."""
    if dtype != "bfloat16":
        return np.dtype(dtype)
    extra = sys.modules.get("ml_dtypes")
    return np.dtype(np.uint16) if extra is None else np.dtype(extra.bfloat16)


class _Seen:
    """Elements as NumPy sees them; keeps their memory, also behind free()."""

    def __init__(self, tensor: Tensor, block: Any) -> None:
        self._block, self._context, item = block, tensor._device._context, _SIZES[tensor._dtype]
        self._context.hold()
        is_fixed = tensor._readonly or block.kind == "device"
        kind = np.dtype(np.uint16) if tensor._dtype == "bfloat16" else np.dtype(tensor._dtype)
        self.__array_interface__ = {"version": 3, "shape": tensor._shape, "typestr": kind.str, "data": (tensor._address, is_fixed),
                                    "strides": tuple(one * item for one in tensor._strides)}  # fmt: skip

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if not is_finalizing() and not library.is_forked():
            self._block = None
            self._context.let_go()


class _Kept:
    """Keeps a block's memory for another package, also behind free() and the device's close()."""

    __slots__ = ("_block", "_context")

    def __init__(self, tensor: Tensor, block: Any) -> None:
        self._block, self._context = block, tensor._device._context
        self._context.hold()

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if not is_finalizing() and not library.is_forked():
            self._block = None
            self._context.let_go()


class Tensor(library.Unique):
    """Elements of one dtype in memory of a device: Any.empty(), zeros(), tensor(). A view shares the memory of its owner."""

    _memory: Memory
    _device: Any
    _address: int
    _shape: tuple[int, ...]
    _strides: tuple[int, ...]
    _dtype: str
    _readonly = False
    _repeatable: Any = None  # The call that wrote it last, in calling.py.
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
        """As the C interface takes it."""
        shape, strides = ctypes.addressof(self._sizes), ctypes.addressof(self._steps)
        return structs.Operand(self._address, _NUMBERS[self._dtype], len(self._shape), shape, strides)

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
    nbytes = property(lambda self: math.prod(self._shape) * _SIZES[self._dtype], doc="Of its elements.")

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are contiguous in row-major order."""
        expected = packed_strides(self._shape)
        return self._strides == expected or 0 in self._shape or all(one == 1 or a == b for one, a, b in zip(self._shape, self._strides, expected))

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
        """A copy for the host; waits for the stream that last used it here. Raises KernelError when a kernel went wrong."""
        block = self._memory._live("the tensor")
        stream = block.last_stream()
        stream._refuse_capture("numpy()")
        if self.is_contiguous:
            return _downloaded(stream, self._address, self._shape, self._dtype)
        item = _SIZES[self._dtype]
        low, high = _reach(self._shape, self._strides)
        buffer: Array = np.empty((high - low + 1) * item, np.uint8)
        if buffer.size:
            self._device._check_on(stream, "gpuemu_memory_download", buffer.ctypes.data, self._address + low * item, buffer.size)
        self._device._wait_for(stream)
        steps = tuple(one * item for one in self._strides)
        kind = numpy_type(self._dtype)
        return np.array(np.ndarray(self._shape, kind, buffer, -low * item, steps) if buffer.size else np.empty(self._shape, kind), order="C")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The elements without a copy, where the host reaches the memory: on the emulator, and pinned or managed. Waits as numpy()
        does. Device memory of the emulator is read-only there: it could not know what the host wrote. Raises TypeError elsewhere.
        """
        block = self._memory._live("the tensor")
        if block.kind == "device" and not self._device.is_emulator:
            raise TypeError("the tensor is in memory of a GPU, which the host does not reach: numpy() copies it")
        stream = block.last_stream()
        stream._refuse_capture("__array__()")
        self._device._wait_for(stream)
        found = np.asarray(_Seen(self, block)).view(numpy_type(self._dtype))
        if dtype is not None and np.dtype(dtype) != found.dtype:
            if copy is False:
                raise ValueError(f"the tensor is {self._dtype}: {np.dtype(dtype)} needs a copy")
            return found.astype(dtype)
        return found.copy() if copy else found

    def __dlpack_device__(self) -> tuple[int, int]:
        """Kind and number of the device, as DLPack has them."""
        if self._device.is_emulator:
            return (dlpack.CPU, 0)
        return {"device": (dlpack.CUDA, self._device.index), "pinned": (dlpack.CUDA_HOST, 0), "managed": (dlpack.CUDA_MANAGED, self._device.index)}[self.kind]

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any:
        """The elements for another package, without a copy unless copy=True. The memory stays until that drops it, also behind
        free(), and counts as written. It is ready when this returns, on a GPU in the order of `stream`."""
        own = self.__dlpack_device__()
        if dl_device is not None and tuple(dl_device) != own:
            if copy is False or tuple(dl_device) != (dlpack.CPU, 0):
                raise BufferError(f"the tensor is on the device {own}, not on {tuple(dl_device)}")
            return self.numpy().__dlpack__()
        if copy:
            return tensor(self._device, self).__dlpack__(stream=stream, max_version=max_version)
        versioned = max_version is not None and tuple(max_version) >= (1, 0)
        if self._readonly and not versioned:
            raise BufferError("the tensor is read-only, which a capsule without a version cannot say: ask with max_version=(1, 0)")
        block = self._memory._live("the tensor")
        self._order_for(block, stream)
        return dlpack.exported(self._address, len(self._shape), self._sizes, self._steps, self._dtype, own, versioned=versioned,
                               readonly=self._readonly, owner=_Kept(self, block))  # fmt: skip

    def _order_for(self, block: Any, stream: Any) -> None:
        """What was issued is done for who uses the memory next, who may write it."""
        device, last = self._device, block.last_stream()
        last._refuse_capture("__dlpack__()")
        if device.is_emulator:
            if stream is not None and stream != -1:
                raise BufferError(f"stream is {stream}, and memory of the host has none")
            if block.kind == "device" and not block.was_exported and block.address and self._memory.nbytes and not self._readonly:
                # Every byte counts as written from now on.
                device._check_on(last, "gpuemu_memory_upload", block.address, block.address, self._memory.nbytes)
                block.was_exported = True
            if block.mark is None or block.mark is not block.awaited:
                block.mark = mark = object()
                device._uses += 1
                device._wait_for(last)
                block.awaited = mark
        elif stream != -1:
            consumer = device.adopt_stream(1 if stream is None else stream)
            for one in list(block.streams.values()):
                if one.handle != consumer.handle and not one.is_closed:
                    consumer.wait(one.record())
            block.used_by(consumer)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3, of a tensor on a GPU."""
        if self._device.is_emulator:
            raise AttributeError("a tensor of the emulator has no __cuda_array_interface__: it is memory of the host")
        if self._dtype == "bfloat16":
            raise AttributeError("__cuda_array_interface__ has no bfloat16: use DLPack")
        block, item = self._memory._live("the tensor"), _SIZES[self._dtype]
        block.last_stream()._refuse_capture("__cuda_array_interface__")
        return {"version": 3, "shape": self._shape, "typestr": np.dtype(self._dtype).str, "data": (self._address, self._readonly),
                "strides": tuple(one * item for one in self._strides), "stream": block.last_stream().handle or 1}  # fmt: skip

    def copy_from(self, source: Any, *, stream: Any = None) -> None:
        """Takes the content of a Tensor or array of the same shape and dtype. The host's data is copied first: the caller may
        change it at once. Between devices it goes through the host and waits."""
        self._memory._live("the tensor")
        self._insist_writable("copy_from()")
        chosen = self._device._stream(stream)
        if isinstance(source, Tensor):
            self._insist_same(source.shape, source.dtype)
            source._memory._live("source, the tensor")
            if source._device is self._device:
                self._copy_on_device(source, chosen)
                return
            source = source.numpy()
        array = uploading.array_of(source, "source", self._dtype)
        self._insist_same(array.shape, self._dtype)
        _upload(self, array, chosen)

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
        """Every byte becomes `value`, 0 to 255."""
        self._memory._live("the tensor")
        self._insist_writable("fill()")
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise TypeError(f"value is a {type(value).__name__}, expected an int of 0 to 255")
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
        """Frees the memory, and so releases every view of it, behind the work that uses it. Twice is allowed."""
        self._memory.free()

    # --- views

    def _viewed(self, offset: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        return Tensor._made(self._memory, self._address + offset * _SIZES[self._dtype], shape, strides, self._dtype, self._readonly)

    def view(self, *shape: Any) -> Tensor:
        """The same elements in another shape; one size may be -1. Raises InvalidArgumentError unless it is contiguous."""
        self._memory._live("the tensor")
        wanted = list(_whole("shape", shape[0] if len(shape) == 1 else shape))
        if wanted.count(-1) == 1:
            rest = math.prod(one for one in wanted if one != -1)
            wanted[wanted.index(-1)] = self.size // rest if rest else 0
        sizes = check_shape(wanted)
        if math.prod(sizes) != self.size:
            raise errors.InvalidArgumentError(f"shape {sizes} has {math.prod(sizes)} elements, the tensor has {self.size}")
        if not self.is_contiguous:
            raise errors.InvalidArgumentError(f"view() needs a contiguous tensor, this one has the strides {self._strides}")
        return self._viewed(0, sizes, packed_strides(sizes))

    def transpose(self, *axes: Any) -> Tensor:
        """Another order of the axes; without arguments the reverse."""
        self._memory._live("the tensor")
        order = _whole("axes", axes[0] if len(axes) == 1 else axes) if axes else tuple(reversed(range(self.rank)))
        places = [one + self.rank if one < 0 else one for one in order]
        if sorted(places) != list(range(self.rank)):
            raise errors.InvalidArgumentError(f"axes {order} are no order of the {self.rank} axes")
        return self._viewed(0, tuple(self._shape[one] for one in places), tuple(self._strides[one] for one in places))

    def __getitem__(self, index: Any) -> Tensor:
        self._memory._live("the tensor")
        parts = list(index) if isinstance(index, tuple) else [index]
        dots = [place for place, part in enumerate(parts) if part is Ellipsis]
        if len(dots) > 1:
            raise errors.InvalidArgumentError("an index has one '...' at most")
        if dots:
            place = dots[0]
            parts[place : place + 1] = [slice(None)] * (self.rank - len(parts) + 1)
        if len(parts) > self.rank:
            raise errors.InvalidArgumentError(f"{len(parts)} indices for a tensor of rank {self.rank}")
        offset, shape, strides = 0, [], []
        for axis, size in enumerate(self._shape):
            part = parts[axis] if axis < len(parts) else slice(None)
            if isinstance(part, slice):
                begin, end, step = part.indices(size)
                count = len(range(begin, end, step))
                offset += begin * self._strides[axis] if count else 0
                shape.append(count)
                strides.append(step * self._strides[axis])
            elif isinstance(part, bool) or not hasattr(part, "__index__"):
                raise TypeError(f"an index is a {type(part).__name__}, expected ints and slices")
            else:
                place = part.__index__()
                if not -size <= place < size:
                    raise errors.InvalidArgumentError(f"index {place} is out of range for axis {axis} of {size}")
                offset += (place + size if place < 0 else place) * self._strides[axis]
        return self._viewed(offset, tuple(shape), tuple(strides))

    def __iter__(self) -> Any:
        return (self[place] for place in range(len(self)))


def _downloaded(stream: Any, address: int, shape: tuple[int, ...], dtype: str) -> Array:
    """Row-major elements, behind the work of the stream."""
    device = stream._device
    whole: Array = np.empty(shape, numpy_type(dtype))
    if 0 not in shape:
        # The shorter way to the address is closed to types that are not NumPy's own.
        seen: Any = whole
        to = whole.__array_interface__["data"][0] if dtype == "bfloat16" else ctypes.addressof(ctypes.c_byte.from_buffer(seen))
        device._check_on(stream, "gpuemu_memory_download", to, address, whole.nbytes)
    device._wait_for(stream)
    return whole


class Layout:
    """All of a tensor but its memory."""

    __slots__ = ("_dtype", "_shape", "_sizes", "_steps", "_strides", "label", "nbytes")

    def __init__(self, tensor: Tensor) -> None:
        self.label, self.nbytes = f"{tensor._dtype}{list(tensor._shape)}".encode(), tensor._memory.nbytes
        self._shape, self._strides, self._dtype = tensor._shape, tensor._strides, tensor._dtype
        self._sizes, self._steps = tensor._sizes, tensor._steps

    def numpy(self, block: Any) -> Array:
        """What numpy() of over() gives. REQUIRES: the layout is contiguous."""
        if block.device.is_closed or library.is_forked():
            return self.over(device_memory(block, self.nbytes, "")).numpy()  # It raises the error.
        stream = block.last_stream()
        stream._refuse_capture("numpy()")
        return _downloaded(stream, block.address, self._shape, self._dtype)

    def over(self, memory: Memory) -> Tensor:
        """A tensor that is all of the memory."""
        made: Tensor = Tensor.__new__(Tensor)
        made._memory, made._device, made._address = memory, memory._device, memory._address
        made._shape, made._strides, made._dtype, made._sizes, made._steps = self._shape, self._strides, self._dtype, self._sizes, self._steps
        return made


def empty(device: Any, shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
    """A Tensor with undefined content."""
    sizes, kinds = check_shape(shape), check_dtype(dtype)
    steps = packed_strides(sizes) if strides is None else _whole("strides", strides)
    if len(steps) != len(sizes) or any(one < 0 for one in steps):
        raise errors.InvalidArgumentError(f"strides are {steps}, expected {len(sizes)} values from 0")
    count = (_reach(sizes, steps)[1] + 1) * _SIZES[kinds]
    memory = device._allocate(count, kind, stream, name, f"{kinds}{list(sizes)}")
    return Tensor._made(memory, memory.address, sizes, steps, kinds)


def zeros(device: Any, shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
    """A Tensor of zeros."""
    made = empty(device, shape, dtype, kind=kind, strides=strides, stream=stream, name=name)
    chosen = made._device._stream(stream)
    if made._memory.nbytes:
        # Gaps between the elements are zeros too.
        made._device._check_on(chosen, "gpuemu_memory_fill", made._memory.address, 0, made._memory.nbytes)
        made._note_use(chosen)
    return made


def tensor(device: Any, array: Any, *, dtype: str | None = None, kind: str = "device", stream: Any = None, name: str = "") -> Tensor:
    """A copy of an array or nested list."""
    if isinstance(array, Tensor):
        array = array.numpy() if dtype is not None or array._device is not device else array
    if isinstance(array, Tensor):
        made = empty(device, array.shape, array.dtype, kind=kind, stream=stream, name=name)
        made.copy_from(array, stream=stream)
        return made
    found = uploading.array_of(array, "array", None if dtype is None else check_dtype(dtype), converts=True)
    made = empty(device, found.shape, dtype or uploading.name_of(found), kind=kind, stream=stream, name=name)
    _upload(made, found, made._device._stream(stream))
    return made


def _upload(tensor: Tensor, array: Array, stream: Any) -> None:
    """In the order of the stream. What is not pinned is copied first."""
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
        packed = empty(device, tensor._shape, tensor._dtype, stream=stream)
        _upload(packed, array, stream)
        tensor._copy_on_device(packed, stream)
        return
    data = array if is_pinned else array.copy()
    device._check_on(stream, "gpuemu_memory_upload", tensor._address, data.ctypes.data, data.nbytes)
    tensor._note_use(stream)
    if graph is not None:
        graph._hold(data)
    else:
        device._staging.keep(data, stream)


def _is_pinned(tensor: Tensor, array: Array) -> bool:
    begin, end = array.ctypes.data, array.ctypes.data + array.nbytes
    pinned = dict(tensor._device._pinned)
    return any(address <= begin and end <= address + size for address, size in pinned.items())


def address_range(one: Tensor) -> tuple[int, int]:
    """The bytes that it reaches: first and behind the last."""
    low, high = _reach(one._shape, one._strides)
    item = _SIZES[one._dtype]
    return one._address + low * item, one._address + (high + 1) * item

