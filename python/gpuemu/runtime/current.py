"""The thread's current device, and functions that create objects on it."""

from __future__ import annotations

import threading
from typing import Any

import gpuemu.runtime.library as library
import gpuemu.runtime.tensors as tensors
import gpuemu.runtime.watching as watching
from gpuemu.runtime.device import Device
from gpuemu.runtime.tensors import Tensor
from gpuemu.runtime.watching import Range

_shared_lock = threading.Lock()
_shared: Device | None = None


def current_device() -> Device:
    """Returns the thread's current device; without one, a Device() that the process shares, opened at its first use."""
    global _shared
    library.refuse_forked()
    if library.of_thread.devices:
        found: Device = library.of_thread.devices[-1]
        return found
    with _shared_lock:
        if _shared is None or _shared.is_closed:
            _shared = Device()
        return _shared


def existing_device() -> Device | None:
    """Returns the current device if it is already open."""
    stack = library.of_thread.devices
    found = stack[-1] if stack else _shared
    return None if found is None or found.is_closed else found


def set_current_device(device: Device | None) -> None:
    """Sets the current device of this thread. None: the shared one again."""
    if device is not None and not isinstance(device, Device):
        raise TypeError(f"device is of type {type(device).__name__}, expected a Device or None")
    stack = library.of_thread.devices
    if device is not None:
        device._insist()
        stack[-1:] = [device]
    elif stack:
        stack.pop()


def empty(shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
    """Returns a Tensor with undefined content on the current device. strides: in elements."""
    return tensors.empty(current_device(), shape, dtype, kind=kind, strides=strides, stream=stream, name=name)


def zeros(shape: Any, dtype: str = "float32", *, kind: str = "device", strides: Any = None, stream: Any = None, name: str = "") -> Tensor:
    """Returns a Tensor of zeros on the current device."""
    return tensors.zeros(current_device(), shape, dtype, kind=kind, strides=strides, stream=stream, name=name)


def tensor(array: Any, *, dtype: str | None = None, kind: str = "device", stream: Any = None, name: str = "") -> Tensor:
    """Copies an array or nested list to the current device. Python's floats become float32, ints int64, bools bool. With
    dtype="bfloat16", uint16 values are the bits of bfloat16."""
    return tensors.tensor(current_device(), array, dtype=dtype, kind=kind, stream=stream, name=name)


def range(name: str, *, device: Device | None = None) -> Range:
    """Returns a range of this thread in every running profile, or in that of the given device."""
    library.refuse_forked()
    return Range(_watched_devices if device is None else lambda: [device], name)


def _watched_devices() -> list[Device]:
    current, profiled = existing_device(), watching.profiled_devices()
    return profiled if current is None or current in profiled else [current, *profiled]
