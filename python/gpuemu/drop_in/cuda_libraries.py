"""Prepares NVIDIA's Python packages (cuda.bindings, cuda.core, Numba) for `gpuemu run`: gpuemu's libraries replace the compilers
in site-packages, which make machine code."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from types import ModuleType

_LIBRARIES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvJitLink.so.13")
# Folders below site-packages where the packages of CUDA 13 and 12 install them.
_FOLDERS = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")


def prepare(_: ModuleType) -> None:
    """Loads gpuemu's libraries: cuda.pathfinder uses a library that is already loaded."""
    folders = [folder for start in sys.path for name in _FOLDERS if os.path.isdir(folder := os.path.join(start, name))]
    if folders:
        os.environ.setdefault("GPUEMU_RUN_NVRTC", ":".join(folders))  # Where gpuemu's libnvrtc finds NVIDIA's.
    for name in _LIBRARIES:
        with contextlib.suppress(OSError):
            ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
