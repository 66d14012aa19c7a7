"""Finds the programs of this installation and the project they work on, and sets up the programs' environment for this Python."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import sys
from typing import NoReturn

NATIVE = pathlib.Path(__file__).resolve().parent / "native"


def program(name: str) -> str | None:
    """Returns the path of an installed program; None if the package was installed without programs."""
    path = NATIVE / "bin" / name
    return str(path) if os.access(path, os.X_OK) else None


def find_program() -> str | None:
    """Returns the path of the gpuemu command: $GPUEMU_CLI, else that of this installation, else the one in PATH."""
    return os.environ.get("GPUEMU_CLI") or program("gpuemu") or shutil.which("gpuemu")


def drop_in() -> str | None:
    """Returns the folder with gpuemu's libcuda.so.1, of this installation or of the source tree with this package; None if there
    is none."""
    package = pathlib.Path(__file__).resolve().parent
    near = [NATIVE / "lib/gpuemu/drop-in", package.parents[1] / "build/release/lib/gpuemu/drop-in"]
    program = find_program()
    if program:
        near.append(pathlib.Path(program).resolve().parent.parent / "lib/gpuemu/drop-in")
    return next((str(folder) for folder in near if (folder / "libcuda.so.1").is_file()), None)


def project_file() -> pathlib.Path | None:
    """Returns $GPUEMU_CONFIG, else the gpuemu.toml of the working directory or the nearest folder above; None outside a
    project."""
    if named := os.environ.get("GPUEMU_CONFIG"):
        return pathlib.Path(named).resolve()
    here = pathlib.Path.cwd()
    return next((path for folder in (here, *here.parents) if (path := folder / "gpuemu.toml").is_file()), None)


def examples() -> pathlib.Path:
    """Returns the folder of the example project. Raises FileNotFoundError if the package was installed without it."""
    path = NATIVE / "share" / "gpuemu" / "examples"
    if not path.is_dir():
        raise FileNotFoundError(f"this installation of the package gpuemu has no {path}; the sources have examples/")
    return path


def environment() -> dict[str, str]:
    """Returns the environment for the programs: this Python runs references unless the project sets another one, and the CUDA
    wheels of this Python (`pip install gpuemu[cuda]`) are the compiler."""
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
    """Returns the folder of NVIDIA's wheels of CUDA 13; None if NVRTC is not in it."""
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
