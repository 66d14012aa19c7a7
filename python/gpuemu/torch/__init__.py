"""A device `cuda` for PyTorch without a GPU: tensors lie in the memory of gpuemu's emulated device.

    gpuemu run -- python script.py

installs it when the script imports torch; so does gpuemu.torch.install() in a program that is started without it. Operators run on the CPU, in the CPU's arithmetic; kernels of Triton run on the emulator.
"""

from __future__ import annotations

import ctypes
import os
import sys
from typing import Any

ARCH = "GPUEMU_RUN_ARCH"  # Read by the driver where `gpuemu run` has not started the process.
_installed: list[Any] = []


def sees_a_gpu() -> bool:
    """Whether torch has a device of its own here. The emulated one, whose driver a build of torch for CUDA finds below `gpuemu run`, is none:
    torch's own kernels are machine code."""
    import torch

    return bool(torch.version.cuda) and not _driver_is_ours() and torch.cuda.is_available()


def _driver_is_ours() -> bool:
    try:
        return hasattr(ctypes.CDLL("libcuda.so.1"), "gpuemu_range_begin")
    except OSError:  # No driver at all.
        return False


def install(arch: str | None = None, *, force: bool = False) -> None:
    """Gives torch the device, of architecture `arch` ("sm_80" where nothing else is said); below `gpuemu run` the run has chosen it. Raises
    RuntimeError where torch has a GPU already (unless force), where the device has another architecture, or where gpuemu's driver is not
    loaded and not installed with this package."""
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
    """Loads the driver of this installation, which is found by its name from then on. Findings are printed when the process ends."""
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
    """Takes the device away again: torch.cuda is torch's own, and operators on tensors that are left raise. What install() compiled stays
    loaded. Does nothing where the device is not installed."""
    if not _installed:
        return
    from gpuemu.torch import cuda, operators

    libraries, replaced = _installed
    _installed.clear()
    cuda.restore(replaced)
    operators.unregister(libraries)
