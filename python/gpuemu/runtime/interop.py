"""Arrays and streams of other packages."""

from __future__ import annotations

from typing import Any

from gpuemu.runtime import errors, tensors
from gpuemu.runtime.current import current_device
from gpuemu.runtime.device import Device
from gpuemu.runtime.streams import Stream
from gpuemu.runtime.tensors import Tensor


def from_dlpack(x: Any, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor of whatever has DLPack: with copy=True a copy. Without a copy it is an UnsupportedError in this version."""
    if not hasattr(x, "__dlpack__"):
        raise TypeError(f"x is a {type(x).__name__} without __dlpack__")
    return as_tensor(x, device=device, copy=copy)


def as_tensor(x: Any, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A Tensor as it is; with copy=True a copy of any array. Memory of others without a copy is an UnsupportedError in this
    version."""
    if isinstance(x, Tensor):
        return x if not copy else tensors.tensor(device if device is not None else x.device, x)
    if copy:
        return tensors.tensor(device if device is not None else current_device(), x)
    if not (hasattr(x, "__dlpack__") or hasattr(x, "__cuda_array_interface__")):
        raise TypeError(f"a {type(x).__name__} is no Tensor, and has neither __dlpack__ nor __cuda_array_interface__")
    raise errors.UnsupportedError(f"this version of libgpuemu takes no memory of others (gpuemu_memory_adopt): copy the {type(x).__name__} "
                                  "with tensor(), or as_tensor(copy=True)")  # fmt: skip


def torch_stream(device: Device | None = None) -> Stream:
    """The current stream of the device, on the emulator; torch's of a GPU is an UnsupportedError in this version."""
    chosen = current_device() if device is None else device
    if chosen.is_emulator:
        return chosen.current_stream()
    import torch

    return chosen.adopt_stream(torch.cuda.current_stream(chosen.index))
