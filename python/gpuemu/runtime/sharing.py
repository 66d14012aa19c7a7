"""Shares the elements of a tensor with other packages without a copy: NumPy, DLPack, __cuda_array_interface__."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

import gpuemu.runtime.dlpack as dlpack
import gpuemu.runtime.library as library
import gpuemu.runtime.shapes as shapes
from gpuemu.tensors import Array


class _Seen:
    """Elements in the form of NumPy; keeps their memory, including after free()."""

    def __init__(self, tensor: Any, block: Any) -> None:
        self._block, self._context, item = block, tensor._device._context, shapes.SIZES[tensor._dtype]
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
    """Keeps a block's memory for another package, including after free() and the device's close()."""

    __slots__ = ("_block", "_context")

    def __init__(self, tensor: Any, block: Any) -> None:
        self._block, self._context = block, tensor._device._context
        self._context.hold()

    def __del__(self, is_finalizing: Any = sys.is_finalizing) -> None:
        if not is_finalizing() and not library.is_forked():
            self._block = None
            self._context.let_go()


def array(tensor: Any, dtype: Any, copy: bool | None) -> Array:
    """Implements Tensor.__array__()."""
    block = tensor._memory._live("the tensor")
    if block.kind == "device" and not tensor._device.is_emulator:
        raise TypeError("the tensor is in memory of a GPU, which the host does not reach: numpy() copies it")
    stream = block.last_stream()
    stream._refuse_capture("__array__()")
    tensor._device._wait_for(stream)
    found = np.asarray(_Seen(tensor, block)).view(shapes.numpy_type(tensor._dtype))
    if dtype is not None and np.dtype(dtype) != found.dtype:
        if copy is False:
            raise ValueError(f"the tensor is {tensor._dtype}: {np.dtype(dtype)} needs a copy")
        return found.astype(dtype)
    return found.copy() if copy else found


def dlpack_device(tensor: Any) -> tuple[int, int]:
    """Returns kind and number of the device, as DLPack defines them."""
    if tensor._device.is_emulator:
        return (dlpack.CPU, 0)
    return {"device": (dlpack.CUDA, tensor._device.index), "pinned": (dlpack.CUDA_HOST, 0), "managed": (dlpack.CUDA_MANAGED, tensor._device.index)}[tensor.kind]


def capsule(tensor: Any, stream: Any, max_version: Any, dl_device: Any, copy: bool | None) -> Any:
    """Implements Tensor.__dlpack__()."""
    own = dlpack_device(tensor)
    if dl_device is not None and tuple(dl_device) != own:
        if copy is False or tuple(dl_device) != (dlpack.CPU, 0):
            raise BufferError(f"the tensor is on the device {own}, not on {tuple(dl_device)}")
        return tensor.numpy().__dlpack__()
    if copy:
        return tensor._device.tensor(tensor).__dlpack__(stream=stream, max_version=max_version)
    versioned = max_version is not None and tuple(max_version) >= (1, 0)
    if tensor._readonly and not versioned:
        raise BufferError("the tensor is read-only, which a capsule without a version cannot say: ask with max_version=(1, 0)")
    block = tensor._memory._live("the tensor")
    _order_for(tensor, block, stream)
    return dlpack.exported(tensor._address, len(tensor._shape), tensor._sizes, tensor._steps, tensor._dtype, own, versioned=versioned,
                           readonly=tensor._readonly, owner=_Kept(tensor, block))  # fmt: skip


def _order_for(tensor: Any, block: Any, stream: Any) -> None:
    """Orders the issued work before the next user of the memory, who may write it."""
    device, last = tensor._device, block.last_stream()
    last._refuse_capture("__dlpack__()")
    if device.is_emulator:
        if stream is not None and stream != -1:
            raise BufferError(f"stream is {stream}, and memory of the host has none")
        if block.kind == "device" and not block.was_exported and block.address and tensor._memory.nbytes and not tensor._readonly:
            # From now on every byte counts as written.
            device._check_on(last, "gpuemu_memory_upload", block.address, block.address, tensor._memory.nbytes)
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


def cuda_array_interface(tensor: Any) -> dict[str, Any]:
    """Implements Tensor.__cuda_array_interface__."""
    if tensor._device.is_emulator:
        raise AttributeError("a tensor of the emulator has no __cuda_array_interface__: it is memory of the host")
    if tensor._dtype == "bfloat16":
        raise AttributeError("__cuda_array_interface__ has no bfloat16: use DLPack")
    block, item = tensor._memory._live("the tensor"), shapes.SIZES[tensor._dtype]
    block.last_stream()._refuse_capture("__cuda_array_interface__")
    return {"version": 3, "shape": tensor._shape, "typestr": np.dtype(tensor._dtype).str, "data": (tensor._address, tensor._readonly),
            "strides": tuple(one * item for one in tensor._strides), "stream": block.last_stream().handle or 1}  # fmt: skip
