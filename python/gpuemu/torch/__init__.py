"""A device `cuda` for PyTorch without a GPU: tensors are in the memory of gpuemu's emulated device.

    gpuemu run -- python script.py

installs it when the script imports torch; a program that is started otherwise calls gpuemu.torch.install(). Operators run on the
CPU, with the CPU's arithmetic; kernels of Triton run on the emulator.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

ARCH = "GPUEMU_RUN_ARCH"  # Read by the driver if the process was not started by `gpuemu run`.
_installed: list[Any] = []


def sees_a_gpu() -> bool:
    """True if torch has a real GPU here. The emulated device, whose driver a CUDA build of torch finds below `gpuemu run`, does
    not count: torch's own kernels are machine code."""
    import torch

    return bool(torch.version.cuda) and not _driver_is_ours() and torch.cuda.is_available()


def _driver_is_ours() -> bool:
    try:
        return hasattr(ctypes.CDLL("libcuda.so.1"), "gpuemu_range_begin")
    except OSError:  # There is no driver.
        return False


def install(arch: str | None = None, *, force: bool = False) -> None:
    """Installs the device, with architecture `arch` (by default "sm_80"); below `gpuemu run` the run has chosen the architecture.
    Raises RuntimeError if torch already has a GPU (unless force), if the device has another architecture, or if gpuemu's driver
    is neither loaded nor installed with this package."""
    if _installed:
        _check(arch)
        return
    if not force and sees_a_gpu():
        raise RuntimeError("torch sees a GPU here, which gpuemu.torch would hide; give force=True to use the emulator all the same")
    if "GPUEMU_RUN" not in os.environ:
        _load_driver(arch)
    _check(arch)
    from gpuemu.torch import cuda, guard, operators

    guard.set_up()
    _installed.append(operators.register())
    _installed.append(cuda.replace())


def _load_driver(arch: str | None) -> None:
    """Loads the driver of this installation; later look-ups by name find it. Findings are printed when the process ends."""
    from gpuemu import installed
    from gpuemu.drop_in import imports, triton_driver

    if arch is not None:
        os.environ.setdefault(ARCH, arch)
    folder = installed.drop_in()
    if folder is not None:
        ctypes.CDLL(os.path.join(folder, "libcuda.so.1"), mode=ctypes.RTLD_GLOBAL)
        os.environ.setdefault("TRITON_LIBCUDA_PATH", folder)
    if "triton" in sys.modules:
        triton_driver.prepare(sys.modules["triton"])
    else:
        imports.prepare({"triton": triton_driver.prepare})


def _check(arch: str | None) -> None:
    if arch is None:
        return
    from gpuemu.torch.driver import driver

    major, minor = (driver().attribute(number, 0) for number in (75, 76))
    if driver().count and arch != f"sm_{major}{minor}":
        raise RuntimeError(f"the emulated device is sm_{major}{minor} and not {arch}: its architecture is chosen once in a process, by the first "
                           f"install() or by `gpuemu run --arch {arch}`")


def uninstall() -> None:
    """Removes the device: torch.cuda is torch's own again, and operators on remaining tensors raise errors. Code compiled by
    install() stays loaded. Does nothing if the device is not installed."""
    if not _installed:
        return
    from gpuemu.torch import cuda, operators

    libraries, replaced = _installed
    _installed.clear()
    cuda.restore(replaced)
    operators.unregister(libraries)
