"""Arrays and streams of other packages."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuemu import dtypes_generated
import gpuemu.runtime.dlpack as dlpack
import gpuemu.runtime.errors as errors
import gpuemu.runtime.shapes as shapes
import gpuemu.runtime.tensors as tensors
from gpuemu.runtime.current import current_device
from gpuemu.runtime.device import Device
from gpuemu.runtime.memory import ForeignBlock, device_memory
from gpuemu.runtime.streams import Stream
from gpuemu.runtime.tensors import Tensor


def from_dlpack(x: Any, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """Returns a tensor for any object with DLPack, without a copy unless copy=True. Raises BufferError if it needs one."""
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"x is of type {type(x).__name__}, which has no __dlpack__")
    return as_tensor(x, device=device, copy=copy)


def as_tensor(x: Any, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """Returns a Tensor unchanged, and wraps memory of other packages without a copy: objects with DLPack or
    __cuda_array_interface__, and on the emulator arrays of NumPy. Strides are kept, and the owner is kept alive. copy=True:
    copies any array. Raises BufferError if a copy would be needed, InvalidArgumentError for dtypes that no device has."""
    if isinstance(x, Tensor) and not copy and device in (None, x.device):
        return x
    chosen = device if device is not None else x.device if isinstance(x, Tensor) else current_device()
    if copy:
        return tensors.tensor(chosen, x)
    if isinstance(x, np.ndarray):
        return _of_array(x, chosen)
    if hasattr(x, "__dlpack__"):
        return _of_dlpack(x, chosen)
    if hasattr(x, "__cuda_array_interface__"):
        return _of_cuda_array(x, chosen)
    raise TypeError(f"the operand is of type {type(x).__name__}, expected a Tensor, or something with __dlpack__ or __cuda_array_interface__")


def _adopted(device: Device, address: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str, is_readonly: bool, owner: Any) -> Tensor:
    low, high = shapes.reach(shape, strides)
    item = shapes.SIZES[dtype]
    begin, count = address + low * item, (high - low + 1) * item
    block = ForeignBlock(device, begin if count else 0, count, is_readonly, owner, f"adopted memory {dtype}{list(shape)}")
    return Tensor._made(device_memory(block, count, ""), address, shape, strides, dtype, is_readonly)


def _needs_copy(what: str, device: Device) -> BufferError:
    return BufferError(f"{what} cannot be used on {device.name} without a copy: as_tensor(copy=True) makes one")


def _elements_of(kind: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...] | None) -> tuple[str, tuple[int, ...]]:
    """Returns the dtype, and the strides in elements."""
    if kind.name not in dtypes_generated.TABLE or kind.byteorder == ">":
        raise errors.InvalidArgumentError(f"dtype {kind.str if kind.name != 'bfloat16' else kind.name} is not one of a device: expected "
                                          f"{', '.join(dtypes_generated.DTYPES)} in the byte order of this machine")  # fmt: skip
    if strides is None:
        return kind.name, shapes.packed_strides(shape)
    used = [0 if one <= 1 else step for one, step in zip(shape, strides)]
    if any(step % kind.itemsize for step in used):
        raise BufferError(f"the strides {strides} in bytes are not multiples of the {kind.itemsize} bytes of {kind.name}")
    return kind.name, tuple(step // kind.itemsize for step in used)


def _of_array(x: np.ndarray[Any, Any], device: Device) -> Tensor:
    if not device.is_emulator:
        raise _needs_copy("memory of the host", device)
    dtype, strides = _elements_of(x.dtype, x.shape, x.strides)
    return _adopted(device, x.ctypes.data, x.shape, strides, dtype, not x.flags.writeable, x)


def _of_dlpack(x: Any, device: Device) -> Tensor:
    where = tuple(x.__dlpack_device__()) if hasattr(x, "__dlpack_device__") else (dlpack.CPU, 0)
    is_host = where[0] in (dlpack.CPU, dlpack.CUDA_HOST, dlpack.CUDA_MANAGED)
    is_own = where == (dlpack.CUDA, device.index) or where[0] in (dlpack.CUDA_HOST, dlpack.CUDA_MANAGED)
    if not (is_host if device.is_emulator else is_own):
        raise _needs_copy("memory of the host" if is_host else f"memory of GPU {where[1]}", device)
    how = {} if device.is_emulator else {"stream": device.current_stream().handle or 1}
    try:
        capsule = x.__dlpack__(max_version=(1, 0), **how)
    except TypeError:
        capsule = x.__dlpack__(**how)  # The protocol before versions.
    held = dlpack.Imported(capsule)
    return _adopted(device, held.address, held.shape, held.strides, held.dtype, held.is_readonly, held)


def _of_cuda_array(x: Any, device: Device) -> Tensor:
    if device.is_emulator:
        raise _needs_copy("memory of a GPU", device)
    told = x.__cuda_array_interface__
    shape = tuple(told["shape"])
    dtype, strides = _elements_of(np.dtype(told["typestr"]), shape, told.get("strides"))
    address, is_readonly = told["data"]
    stream = told.get("stream")
    if stream is not None:
        made = device.adopt_stream(stream)
        if made.handle != device.current_stream().handle:
            device.current_stream().wait(made.record())
    return _adopted(device, address or 0, shape, strides, dtype, bool(is_readonly), x)


def torch_stream(device: Device | None = None) -> Stream:
    """Returns torch's current stream of the GPU, adopted; on the emulator, the current stream of the device."""
    chosen = current_device() if device is None else device
    if chosen.is_emulator:
        return chosen.current_stream()
    import torch

    return chosen.adopt_stream(torch.cuda.current_stream(chosen.index))
