"""Lists the devices that this process can open, and the versions of the libraries."""

from __future__ import annotations

import ctypes
from typing import Any

import gpuemu
from gpuemu import dtypes_generated
from gpuemu.client.records import DeviceInfo
import gpuemu.runtime.errors as errors
import gpuemu.runtime.library as library
import gpuemu.runtime.structs as structs


def info_of(found: structs.DeviceProperties) -> DeviceInfo:
    """Converts the struct to the form for users."""
    names = [name for bit, name in enumerate(dtypes_generated.DTYPES) if found.dtypes >> bit & 1]
    return DeviceInfo(
        name=found.name.decode(), backend=found.backend.decode(), architecture=f"sm_{found.sm}", memory_bytes=found.memory_bytes,
        multiprocessors=found.multiprocessors, index=found.index, memory_free_bytes=found.memory_free_bytes,
        driver_version=found.driver_version.decode(), runtime_version=found.runtime_version.decode(), dtypes=names,
    )  # fmt: skip


def properties() -> structs.DeviceProperties:
    """Returns an empty struct for a function of the library to fill in."""
    return structs.DeviceProperties(struct_bytes=ctypes.sizeof(structs.DeviceProperties))


def devices(backend: str | None = None) -> list[DeviceInfo]:
    """Lists the devices that can be opened, GPUs first, without opening them. backend: only "cuda" or "emulator"."""
    if backend is not None and not isinstance(backend, str):
        raise TypeError(f"backend is of type {type(backend).__name__}, expected \"cuda\", \"emulator\" or None")
    loaded, count = library.load(), ctypes.c_uint32()
    wanted = None if backend is None else backend.encode()
    loaded.check(loaded.gpuemu_device_count(wanted, ctypes.byref(count)))
    found = []
    for number in range(count.value):
        one = properties()
        loaded.check(loaded.gpuemu_device_at(wanted, number, ctypes.byref(one)))
        found.append(info_of(one))
    return found


def versions() -> dict[str, Any]:
    """Returns the versions of the package, of the library and its interface, and of the libraries of NVIDIA that it found; "" for
    a missing one."""
    loaded = library.load()
    told = loaded.json(loaded.gpuemu_versions_json)
    return {"package": gpuemu.__version__, "library": told["library"], "path": loaded.path, "abi": told["abi"], "driver": told["driver"],
            "cuda_runtime": told["cuda_runtime"], "cupti": told["cupti"], "cublas": told["cublas"]}  # fmt: skip


def dtypes() -> list[str]:
    """Returns the names of all dtypes."""
    return list(dtypes_generated.DTYPES)


def insist_on(backend: str, index: int) -> None:
    """Raises NotFoundError, which lists the existing devices, if this one does not exist."""
    if index >= len(devices(backend)):
        known = ", ".join(f"{one.backend}:{one.index}" for one in devices()) or "none"
        raise errors.NotFoundError(f"no device {backend}:{index}; there are: {known}")


def architecture(arch: Any) -> int:
    """Returns the number in "sm_80"."""
    if isinstance(arch, int) and not isinstance(arch, bool):
        return arch
    if not isinstance(arch, str):
        raise TypeError(f"arch is of type {type(arch).__name__}, expected a text such as \"sm_80\"")
    number = arch.removeprefix("sm_")
    if not number.isdigit():
        raise errors.InvalidArgumentError(f"arch is '{arch}', expected a text such as \"sm_80\"")
    return int(number)
