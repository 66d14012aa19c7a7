"""Passes arrays to kernels: copies their storages to the device, and back if the kernel changed them."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuemu.device.device import Address, Device
from gpuemu.device.storages import Region, View
from gpuemu.errors import LaunchError
from gpuemu.tensors import Array

# C types that a pointer may read, by kind (float or integer) and size in bytes. A pointer to bytes may be cast to anything.
_POINTEES = {
    **dict.fromkeys(("float",), ("float", 4)), **dict.fromkeys(("double",), ("float", 8)),
    **dict.fromkeys(("half", "__half", "nv_bfloat16", "__nv_bfloat16"), ("float", 2)),
    **dict.fromkeys(("int", "unsigned int", "unsigned", "int32_t", "uint32_t"), ("integer", 4)),
    **dict.fromkeys(("short", "unsigned short", "int16_t", "uint16_t"), ("integer", 2)),
    **dict.fromkeys(("long long", "unsigned long long", "long long int", "long", "unsigned long", "int64_t", "uint64_t", "size_t"), ("integer", 8)),
}  # fmt: skip
_LOOK_BYTES = 256 << 20  # From this size on the free memory is checked.
_COPIES = 2  # Copies of a storage on this machine: its contents before and after the launch.
_EMULATED_COPIES = 3  # Copies on the emulator: the elements, a byte for each that says whether it was written, and a message.
_QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "std"}


def pointee(words: Sequence[str]) -> str:
    """Returns the type that a parameter with these words points to, "" if it does not determine the elements."""
    name = " ".join(one for one in words[:-1] if one not in _QUALIFIERS)
    return name if name in _POINTEES else ""


def insist_on_dtype(kind: np.dtype[Any], name: str, points_to: str) -> None:
    """Raises LaunchError for elements that no kernel reads, and for elements whose size differs from the pointer's type in the
    source."""
    said = f"argument '{name}'"
    if kind.hasobject:
        raise LaunchError(f"{said} has dtype {kind}, whose elements are objects of Python: a kernel takes numbers, as of .astype('float32')")
    if not kind.isnative:
        raise LaunchError(f"{said} has dtype {kind}, expected this machine's byte order: pass {name}.astype({name}.dtype.newbyteorder('='))")
    if any(one.char in "gG" for one in _scalars(kind)):
        raise LaunchError(f"{said} has dtype {kind}, a long double, which no kernel has: pass .astype('float64')")
    wanted, size = _POINTEES.get(points_to, ("", 0))
    given = "float" if kind.kind == "f" or kind.name == "bfloat16" else "integer" if kind.kind in "iu" else ""
    if wanted and given == wanted and size != kind.itemsize > 1:
        raise LaunchError(f"{said} has dtype {kind} with elements of {kind.itemsize} bytes, its parameter is {points_to}*, which reads "
                          f"{size} bytes for each: pass .astype('{wanted.removesuffix('eger')}{8 * size}'), or .view of that for its bits")  # fmt: skip


def _scalars(kind: np.dtype[Any]) -> list[np.dtype[Any]]:
    """Returns the dtypes of a structure's members, including those of nested structures."""
    if kind.names:
        return [one for name in kind.names for one in _scalars(kind[name])]
    return [kind] if kind.subdtype is None else _scalars(kind.subdtype[0])


def _host_bytes_left() -> int | None:
    """Returns the memory available on this machine in bytes; None if unknown."""
    try:
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), None)


def insist_on_room(device: Device, regions: Sequence[Region]) -> None:
    """Raises LaunchError if the device or this machine cannot hold the storages, before anything is copied. Otherwise the
    operating system kills processes, and not always the one that allocated too much."""
    total = sum(one.bytes for one in regions)
    if total < _LOOK_BYTES and total <= device.memory_limit_bytes:
        return
    largest = max(regions, key=lambda one: one.bytes)
    properties = device.properties
    limit, left = properties["memory_bytes"], _host_bytes_left()
    said = f"argument '{largest.name}' has {largest.bytes} bytes" + (f", all arrays of the call {total}" if total != largest.bytes else "")
    if total > limit:
        raise LaunchError(f"{said}, and the device has {limit}: pass fewer elements, or device=gpuemu.Device(memory_limit_bytes=...) with more")
    needed = total * (_COPIES + (_EMULATED_COPIES if properties["backend"] != "cuda" else 0))
    if left is not None and needed > left:
        raise LaunchError(f"{said}, for which {needed} bytes of this machine's memory are needed, copies included; {left} are left: pass fewer elements")


class Buffer:
    """The storage of one or more arguments on the device. Copies changes back to the callers' arrays."""

    def __init__(self, device: Device, region: Region) -> None:
        self.device, self.region = device, region
        self.before = region.read()
        self.allocation = device.allocate(region.shift + region.bytes, region.name)
        try:
            if region.bytes:
                device.upload(Address.of(self.allocation + region.shift, self.allocation.generation), self.before)
        except BaseException:
            self.free()
            raise

    def address_of(self, view: View) -> int:
        """Returns the device address of the view's element whose indices are all 0."""
        return self.allocation + self.region.shift + view.address - self.region.start

    def free(self) -> None:
        self.device.free(self.allocation)

    def after(self) -> Array:
        """Returns the bytes of the storage after the kernel."""
        start = Address.of(self.allocation + self.region.shift, self.allocation.generation)
        return np.frombuffer(self.device.download(start, self.region.bytes), np.uint8)

    def explain(self, tensor: str) -> str:
        """Describes where the arguments of a finding are in their storage; "" if there is nothing to add."""
        if tensor != self.region.name:
            return ""
        views = [one for one in self.region.views if not one.fills()]
        told = [f"'{one.name}' begins at byte {self.region.shift + one.address - self.region.start} of it, with strides of {list(one.strides)} bytes"
                for one in views]  # fmt: skip
        told += [f"'{one.name}' is a view of a storage of {one.storage[1] - one.storage[0]} bytes, all of which bounds=\"storage\" lets the kernel use"
                 for one in self.region.views if one.beyond]  # fmt: skip
        return "".join(f"; {one}" for one in dict.fromkeys(told))


def write_back(buffers: Sequence[Buffer]) -> None:
    """Writes back all changes of the kernel, or nothing: LaunchError is raised before the first byte is written. Warns about
    changed bytes that belong to no element of an argument: on a GPU a kernel changes them, too, and rarely on purpose."""
    made = []
    for one in buffers:
        after = one.after()
        changed = after != one.before
        if changed.any():
            one.region.insist_on_writing(changed)
            made.append((one.region, after, changed))
    for region, after, changed in made:
        region.write(after, changed)
    for region, _, changed in made:
        if count := region.outside(changed):
            warnings.warn(f"the kernel changed {count} bytes of the storage of '{region.name}' that are of no element of it", stacklevel=4)  # fmt: skip
