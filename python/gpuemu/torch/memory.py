"""Storages of `cuda` tensors: each is an allocation of the emulated device, so its size is the bounds for kernels.

A tensor is created from an address through DLPack, the published exchange format: once on `cuda` for the program and once on the
CPU, for the operators of torch that work on the same bytes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.utils.dlpack

from gpuemu.torch.driver import driver

_CPU, _CUDA = 1, 2  # DLPack's numbers of devices.
_UINT, _BITS = 1, 8


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("index", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", _Device), ("ndim", ctypes.c_int32), ("dtype", _Type),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]  # fmt: skip


class _Managed(ctypes.Structure):
    pass


_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype, _new_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


@dataclass
class _Given:
    """Kept until torch has freed the storage: the DLPack structure and its shape; twin: that of memory which is freed with it; keep:
    the owner of memory of another storage; free: frees other memory."""

    managed: _Managed
    shape: Any
    twin: Twin | None = None
    keep: Any = None
    free: Callable[[], None] | None = None


@dataclass(frozen=True)
class Twin:
    """The memory of a storage on `cuda`, as a tensor of bytes on the CPU."""

    bytes: torch.Tensor
    device: int


class Statistics:
    """Bytes of all storages, for torch.cuda.memory_allocated and similar functions."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def add(self, size: int) -> None:
        self.now += size
        self.most = max(self.most, self.now)


# Without a lock: each change is one step of the interpreter.
_given: dict[int, _Given] = {}
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_given))  # For tensors that torch frees after Python has cleared this module.
_twins: dict[int, Twin] = {}
_statistics = Statistics()


def statistics() -> Statistics:
    collect()
    return _statistics


def collect() -> None:
    """Forgets the storages that torch has freed. Their memory is free already: see bindings/libcuda/calls/storages.h."""
    while managed := driver().next_released():
        given = _given.pop(managed)
        if given.twin is not None:
            address = given.managed.tensor.data
            if _twins.get(address) is given.twin:
                del _twins[address]
            _statistics.add(-given.twin.bytes.numel())
        elif given.free is not None:
            given.free()


def _imported(address: int, size: int, kind: int, index: int, twin: Twin | None = None, keep: Any = None, free: Callable[[], None] | None = None) -> torch.Tensor:
    """Returns `size` bytes at an address as a tensor."""
    shape = (ctypes.c_int64 * 1)(size)
    deleter = driver().address_of("gpuemu_release" if twin is None else "gpuemu_release_memory")
    managed = _Managed(_Tensor(address, _Device(kind, index), 1, _Type(_UINT, _BITS, 1), shape, None, 0), None, deleter)
    _given[ctypes.addressof(managed)] = _Given(managed, shape, twin, keep, free)
    capsule = _new_capsule(ctypes.addressof(managed), b"dltensor", None)
    made: torch.Tensor = torch.utils.dlpack.from_dlpack(capsule)
    return made


def new_storage(size: int, device: int) -> torch.Tensor:
    """Allocates undefined memory of the device; returns it as a tensor of bytes on `cuda`."""
    collect()
    if size == 0:
        return _imported(0, 0, _CUDA, device)
    address = driver().allocate(size, device)
    twin = _twins[address] = Twin(_imported(address, size, _CPU, 0), device)
    _statistics.add(size)
    return _imported(address, size, _CUDA, device, twin)


def on_cpu(address: int, size: int, free: Callable[[], None]) -> torch.Tensor:
    """Returns host memory as a tensor of bytes on the CPU; `free` is called when its storage is freed."""
    return _imported(address, size, _CPU, 0, free=free)


def same_storage(storage: Any) -> torch.Tensor:
    """Returns the memory of a storage on `cuda` as a tensor of bytes."""
    return _imported(storage.data_ptr(), storage.nbytes(), _CUDA, storage.device.index, keep=storage)


def moved(storage: Any, device: int) -> Any:
    """Copies a storage on the CPU to a new storage on `cuda`."""
    made = new_storage(storage.nbytes(), device)
    driver().write(made.data_ptr(), storage.data_ptr(), storage.nbytes())
    return made.untyped_storage()


def shaped(base: torch.Tensor, dtype: torch.dtype, size: Any, stride: Any, offset: int) -> torch.Tensor:
    """Returns the storage of `base` as a tensor of this dtype and layout, without autograd."""
    made = base.detach()
    if dtype != made.dtype:
        whole = base.untyped_storage().nbytes()
        if made.element_size() != 1:
            torch.ops.aten.as_strided_(made, [whole // made.element_size()], [1], 0)
            made = made.view(torch.uint8)
        torch.ops.aten.as_strided_(made, [whole // dtype.itemsize * dtype.itemsize], [1], 0)
        made = made.view(dtype)
    shaped_: torch.Tensor = torch.ops.aten.as_strided_(made, size, stride, offset)
    return shaped_


def twin_of(storage: Any) -> Twin | None:
    """Returns the twin of a storage that new_storage made, or of its twin; None for other memory."""
    return _twins.get(storage.data_ptr())


def on_host(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor on the CPU with the memory and layout of one on `cuda`."""
    twin = twin_of(tensor.untyped_storage())
    made = torch.empty(0, dtype=tensor.dtype, device="cpu")
    if twin is None:
        return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="cpu")
    made.set_(twin.bytes.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
    return made


def span(tensor: torch.Tensor) -> tuple[int, int]:
    """Returns the address of the first element, and the number of bytes up to the end of the last."""
    if tensor.numel() == 0:
        return tensor.data_ptr(), 0
    last = sum((size - 1) * stride for size, stride in zip(tensor.size(), tensor.stride(), strict=True))
    return tensor.data_ptr(), (last + 1) * tensor.element_size()


@contextmanager
def copies(storages: Iterable[Any]) -> Iterator[Callable[[], None]]:
    """Saves the device contents of the storages, including which bytes are defined. Yields a function that restores them."""
    kept: list[tuple[int, int, int]] = []
    try:
        for storage in storages:
            twin = twin_of(storage)
            if twin is not None and storage.nbytes():
                kept.append((storage.data_ptr(), driver().allocate(storage.nbytes(), twin.device), storage.nbytes()))
                driver().copy(kept[-1][1], kept[-1][0], storage.nbytes())

        def give_back() -> None:
            for address, copy, size in kept:
                driver().copy(address, copy, size)

        yield give_back
    finally:
        for _, copy, _ in kept:
            driver().free(copy)
