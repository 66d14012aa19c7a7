"""The device guard of `cuda`, through which torch gets the current device and stream. A CPU build of torch has none."""

from __future__ import annotations

import ctypes

from gpuemu.torch.driver import driver

_CUDA, _LAZY = 1, 17  # Numbers of c10::DeviceType.
_REGISTER = "_ZN3c104impl19registerDeviceGuardENS_10DeviceTypeEPKNS0_24DeviceGuardImplInterfaceE"
_TABLE = "_ZN3c104impl26device_guard_impl_registryE"


def set_up() -> None:
    """Registers torch's guard without effect, which is meant for machines without a GPU. Torch uses it to replace a guard that
    has no devices, such as that of its lazy device."""
    import torch

    c10 = ctypes.CDLL("libc10.so")
    guards = (ctypes.c_void_p * (_LAZY + 1)).in_dll(c10, _TABLE)
    if not hasattr(torch._C, "_ensureCUDADeviceGuardSet"):  # Torch 2.9 and older.
        if driver().count and not (guards[_CUDA] and torch.cuda.device_count()):
            from gpuemu.torch.compiled import load

            load("guard.cc", "the device cuda")
        return
    if guards[_CUDA]:
        torch._C._ensureCUDADeviceGuardSet()
        return
    register = getattr(c10, _REGISTER)
    register.argtypes, register.restype = [ctypes.c_int8, ctypes.c_void_p], None
    lazy = guards[_LAZY]
    if not lazy:
        raise RuntimeError(f"gpuemu.torch does not know torch {torch.__version__}: it has no guard for lazy devices")
    register(_CUDA, lazy)
    torch._C._ensureCUDADeviceGuardSet()
    if guards[_CUDA] == lazy:
        register(_CUDA, None)
        raise RuntimeError(f"gpuemu.torch does not know torch {torch.__version__}: it keeps its guard for lazy devices")
