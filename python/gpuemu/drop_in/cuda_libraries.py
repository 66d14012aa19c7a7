"""NVIDIA's Python packages (cuda.bindings, cuda.core, Numba) under `gpuemu run`: gpuemu's libraries take the place of the compilers in
site-packages, which make machine code."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from types import ModuleType

_LIBRARIES = ("libnvrtc.so.13", "libnvrtc.so.12", "libnvJitLink.so.13")
_FOLDERS = ("nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib")  # Below site-packages, as the packages of CUDA 13 and 12 install them.


def prepare(_: ModuleType) -> None:
    """Loads them: cuda.pathfinder takes a library that is loaded already."""
    folders = [folder for start in sys.path for name in _FOLDERS if os.path.isdir(folder := os.path.join(start, name))]
    if folders:
        os.environ.setdefault("GPUEMU_RUN_NVRTC", ":".join(folders))  # Where gpuemu's libnvrtc finds NVIDIA's.
    for name in _LIBRARIES:
        with contextlib.suppress(OSError):
            ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
