"""Makes the autograd engine of a CPU build of torch work with gradients on `cuda`.

The engine asks compiled code which accelerator exists, so a few lines of C++ are compiled against the headers of the installed
torch. This happens once in a run, when the first operator gets a tensor that requires a gradient.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import torch

_SOURCE = pathlib.Path(__file__).with_name("hooks.cc")
_NEEDED = "gradients of cuda tensors need a C++ compiler beside the CPU build of torch"
_done = False


def prepare() -> None:
    """Sets torch's hooks, once in a process. Raises RuntimeError without a compiler."""
    global _done
    if _done:
        return
    _done = True
    if torch.backends.cuda.is_built():
        return  # Torch has its own hooks.
    folder = os.environ.get("GPUEMU_RUN") or tempfile.mkdtemp(prefix="gpuemu-torch-")
    made = pathlib.Path(folder) / f"torch-hooks-{torch.__version__}-{sys.version_info[0]}{sys.version_info[1]}.so"
    with open(f"{made}.lock", "w") as lock:  # Several processes of a run may compile at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            _compile(made)
    ctypes.CDLL(str(made)).gpuemu_torch_set_hooks()
    if "GPUEMU_RUN" not in os.environ:
        shutil.rmtree(folder, ignore_errors=True)


def _compile(made: pathlib.Path) -> None:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise RuntimeError(f"gpuemu: {_NEEDED}; install g++ or set CXX")
    root = pathlib.Path(torch.__file__).parent
    words = [*compiler.split(), "-std=c++20", "-O1", "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
             f"-I{root / 'include'}", str(_SOURCE), "-o", f"{made}.part", f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"]  # fmt: skip
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"gpuemu: {_NEEDED}; {compiler} failed:\n{ran.stderr[-2000:]}")
    os.rename(f"{made}.part", made)
