"""Code in C++ that is compiled against the headers of the installed torch, once in a run."""

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


def load(source: str, what: str) -> ctypes.CDLL:
    """Compiles a file of this folder and loads it; `what` needs it. Raises RuntimeError without a compiler."""
    folder = os.environ.get("GPUEMU_RUN") or tempfile.mkdtemp(prefix="gpuemu-torch-")
    made = pathlib.Path(folder) / f"torch-{source.removesuffix('.cc')}-{torch.__version__}-{sys.version_info[0]}{sys.version_info[1]}.so"
    with open(f"{made}.lock", "w") as lock:  # Several processes of a run may compile at the same time.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            _compile(pathlib.Path(__file__).with_name(source), made, what)
    library = ctypes.CDLL(str(made))
    if "GPUEMU_RUN" not in os.environ:
        shutil.rmtree(folder, ignore_errors=True)
    return library


def _compile(source: pathlib.Path, made: pathlib.Path, what: str) -> None:
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    needed = f"gpuemu: {what} with torch {torch.__version__} needs a C++ compiler"
    if compiler is None:
        raise RuntimeError(f"{needed}; install g++ or set CXX")
    root = pathlib.Path(torch.__file__).parent
    words = [*compiler.split(), "-std=c++20", "-O1", "-shared", "-fPIC", f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
             f"-I{root / 'include'}", str(source), "-o", f"{made}.part", f"-L{root / 'lib'}", "-ltorch_cpu", "-lc10"]  # fmt: skip
    ran = subprocess.run(words, capture_output=True, text=True)
    if ran.returncode:
        raise RuntimeError(f"{needed}; {compiler} failed:\n{ran.stderr[-2000:]}")
    os.rename(f"{made}.part", made)
