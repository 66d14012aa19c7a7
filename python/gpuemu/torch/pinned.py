"""pin_memory() and is_pinned() of tensors on the CPU: pinned memory of the emulated driver."""

from __future__ import annotations

import ctypes
from typing import Any

import torch

import gpuemu.torch.memory as memory
from gpuemu.torch.driver import driver

_addresses: set[int] = set()  # Start addresses of pinned storages.


def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    """torch.Tensor.pin_memory: a copy in pinned memory, or the tensor where it is pinned."""
    if self.is_cuda:
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    if is_pinned(self) or self.untyped_storage().nbytes() == 0:
        return self
    source = self.detach().contiguous()
    size = source.numel() * source.element_size()
    address = driver().handle("cuMemAllocHost_v2", ctypes.c_size_t(size))
    _addresses.add(address)
    made = memory.on_cpu(address, size, lambda: _free(address)).view(source.dtype).view(source.size())
    made.copy_(source)
    return made.requires_grad_(self.requires_grad)


def is_pinned(self: torch.Tensor, device: Any = None) -> bool:
    """torch.Tensor.is_pinned"""
    return not self.is_cuda and self.layout == torch.strided and self.untyped_storage().data_ptr() in _addresses


def _free(address: int) -> None:
    _addresses.discard(address)
    driver().free_host(address)
