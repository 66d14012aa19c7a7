"""pin_memory(), is_pinned() and the argument pin_memory for tensors on the CPU: pinned memory of the emulated driver."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import torch

import gpuemu.torch.memory as memory
from gpuemu.torch.driver import driver

_addresses: set[int] = set()  # Start addresses of pinned storages.


def pin_memory(self: torch.Tensor, device: Any = None) -> torch.Tensor:
    """torch.Tensor.pin_memory: returns a copy in pinned memory, or the tensor itself if it is pinned."""
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


def _pinning(make: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Makes the argument pin_memory of a factory work: torch's own kernels need the allocator of a real device."""

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> torch.Tensor:
        if not kwargs.pop("pin_memory", False):
            return make(*args, **kwargs)
        wants_gradient = kwargs.pop("requires_grad", False)
        tensor = make(*args, **kwargs)
        if tensor.is_cuda:
            raise RuntimeError("Only dense CPU tensors can be pinned")
        return pin_memory(tensor).requires_grad_(wants_gradient)

    return made


_LIKE = ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like")
_FACTORIES = (*_LIKE, "arange", "empty", "empty_strided", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm",
              "tensor", "zeros")  # fmt: skip
_METHODS = ("new_empty", "new_empty_strided", "new_full", "new_ones", "new_zeros")


def factories() -> list[tuple[Any, dict[str, Any]]]:
    """Returns the replacements of the factories: module or class, with functions by name."""
    from torch.utils import _device

    # Functions in this set, which torch creates once, get the device of `with torch.device(...)`. It must be created with torch's
    # own functions.
    _device._device_constructors()
    return [(torch, {name: _pinning(getattr(torch, name)) for name in _FACTORIES}),
            (torch.Tensor, {name: _pinning(getattr(torch.Tensor, name)) for name in _METHODS})]  # fmt: skip


def _free(address: int) -> None:
    _addresses.discard(address)
    driver().free_host(address)
