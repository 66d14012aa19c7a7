"""A device `cuda` for PyTorch without a GPU: tensors lie in the memory of gpuemu's emulated device.

    gpuemu run -- python script.py

installs it when the script imports torch. Operators run on the CPU, in the CPU's arithmetic; kernels of Triton run on the emulator.
"""

from __future__ import annotations

from typing import Any

_installed: list[Any] = []


def sees_a_gpu() -> bool:
    """Whether torch has a device of its own here."""
    import torch

    return bool(torch.version.cuda) and torch.cuda.is_available()


def install(*, force: bool = False) -> None:
    """Gives torch the device. Raises RuntimeError where torch has a GPU already (unless force), or where gpuemu's driver is
    not loaded."""
    if _installed:
        return
    if not force and sees_a_gpu():
        raise RuntimeError("torch sees a GPU here, which gpuemu.torch would hide; give force=True to use the emulator all the same")
    from gpuemu.torch import cuda, guard, operators

    guard.set_up()
    _installed.append(operators.register())
    _installed.append(cuda.replace())


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
