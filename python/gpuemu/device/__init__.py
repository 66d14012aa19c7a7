"""Runs kernels from this process: a device, its buffers, and kernels in CUDA, Triton and Numba. gpuemu.device.Device and the
other names that exported cases use are loaded at their first use."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gpuemu.device.device import *

__all__ = ["Address", "Device", "DeviceError", "DeviceLostError", "Entry", "Module", "Parameter", "Place", "Report", "program",
           "shared_device"]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'gpuemu.device' has no attribute '{name}'")
    return getattr(importlib.import_module("gpuemu.device.device"), name)
