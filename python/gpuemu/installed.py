"""The programs of this installation, the project they work on, and what they need to know of this Python."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import sys
from typing import NoReturn

NATIVE = pathlib.Path(__file__).resolve().parent / "native"


def program(name: str) -> str | None:
    """The path of a program of this installation; None where the package came without programs."""
    path = NATIVE / "bin" / name
    return str(path) if os.access(path, os.X_OK) else None


def find_program() -> str | None:
    """The gpuemu command: $GPUEMU_CLI, else that of this installation, else the one in PATH."""
    return os.environ.get("GPUEMU_CLI") or program("gpuemu") or shutil.which("gpuemu")


def drop_in() -> str | None:
    """The folder with gpuemu's libcuda.so.1 of this installation, or of the sources that this package lies in; None without one."""
    package = pathlib.Path(__file__).resolve().parent
    near = [NATIVE / "lib/gpuemu/drop-in", package.parents[1] / "build/release/lib/gpuemu/drop-in"]
    program = find_program()
    if program:
        near.append(pathlib.Path(program).resolve().parent.parent / "lib/gpuemu/drop-in")
    return next((str(folder) for folder in near if (folder / "libcuda.so.1").is_file()), None)


def project_file() -> pathlib.Path | None:
    """$GPUEMU_CONFIG, else the gpuemu.toml of the working directory or the nearest above; None outside of a project."""
    if named := os.environ.get("GPUEMU_CONFIG"):
        return pathlib.Path(named).resolve()
    here = pathlib.Path.cwd()
    return next((path for folder in (here, *here.parents) if (path := folder / "gpuemu.toml").is_file()), None)


def examples() -> pathlib.Path:
    """The folder of the example project. Raises FileNotFoundError where the package came without it."""
    path = NATIVE / "share" / "gpuemu" / "examples"
    if not path.is_dir():
        raise FileNotFoundError(f"this installation of the package gpuemu has no {path}; the sources have examples/")
    return path


def environment() -> dict[str, str]:
    """What the programs run with: references are run by this Python unless the project says otherwise, and the CUDA wheels
    of this Python (`pip install gpuemu[cuda]`) are its compiler."""
    made = dict(os.environ)
    beside = os.path.dirname(sys.executable)
    if beside and beside not in made.get("PATH", "").split(os.pathsep):
        made["PATH"] = os.pathsep.join([beside, *filter(None, [made.get("PATH", os.defpath)])])
    if not made.get("GPUEMU_CUDA_HOME") and not made.get("CUDA_HOME"):
        found = cuda_wheels()
        if found:
            made["GPUEMU_CUDA_HOME"] = found
    return made


def cuda_wheels() -> str | None:
    """The folder of NVIDIA's wheels of CUDA 13; None without NVRTC in it."""
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations or [] if spec else []:
        folder = pathlib.Path(root) / "cu13"
        if (folder / "lib" / "libnvrtc.so.13").exists():
            return str(folder)
    return None


def _become(name: str) -> NoReturn:
    path = program(name)
    if path is None:
        sys.exit(f"{name}: this installation of the package gpuemu has no programs; install its wheel, or put the folder of {name} into PATH")
    os.execve(path, [name, *sys.argv[1:]], environment())


def gpuemu() -> NoReturn:
    _become("gpuemu")


def gpuemu_daemon() -> NoReturn:
    _become("gpuemu-daemon")


def gpuemu_device() -> NoReturn:
    _become("gpuemu-device")


def gpuemu_nvcc() -> NoReturn:
    _become("gpuemu-nvcc")
