"""Prepares torch, triton, numba.cuda and cuda.pathfinder when a program imports them; other programs are not affected."""

from __future__ import annotations

import os
from types import ModuleType

from gpuemu.drop_in import imports

PREPARED = "GPUEMU_RUN_PREPARE"  # Names of modules to prepare: "torch,triton".
FORCED = "GPUEMU_RUN_TORCH"  # Set by --torch.


def _torch(_: ModuleType) -> None:
    import gpuemu.torch

    if FORCED in os.environ or not gpuemu.torch.sees_a_gpu():
        gpuemu.torch.install(force=True)


def _triton(module: ModuleType) -> None:
    from gpuemu.drop_in import triton_driver

    triton_driver.prepare(module)


def _numba_cuda(module: ModuleType) -> None:
    from gpuemu.drop_in import numba_cuda

    numba_cuda.prepare(module)


def _cuda_pathfinder(module: ModuleType) -> None:
    from gpuemu.drop_in import cuda_libraries

    cuda_libraries.prepare(module)


_PREPARATIONS: dict[str, imports.Preparation] = {"torch": _torch, "triton": _triton, "numba.cuda": _numba_cuda}
# Without this a kernel becomes machine code, which cannot be run.
_ALWAYS: dict[str, imports.Preparation] = {"cuda.pathfinder": _cuda_pathfinder}


def start() -> None:
    """Starts to watch for imports, in processes below `gpuemu run`. Called by gpuemu-run.pth of an installed package, which an
    isolated Python (-I, -E) also reads, and by sitecustomize.py of PYTHONPATH; the second call does nothing."""
    if "GPUEMU_RUN" in os.environ:
        names = os.environ.get(PREPARED, "torch,triton,numba.cuda").split(",")
        imports.prepare({name: _PREPARATIONS[name] for name in names if name in _PREPARATIONS} | _ALWAYS)
