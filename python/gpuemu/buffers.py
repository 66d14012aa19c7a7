"""Arrays as arguments of kernels: their way to the device, and back where the kernel changed them."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuemu import tensors
from gpuemu.device import Device
from gpuemu.errors import LaunchError
from gpuemu.tensors import Array

_OVERLAP_WORK = 1 << 16  # Steps that finding an element of both of two arrays may take.
# Of C: what a pointer to it reads, by kind (a float or an integer) and bytes. Of bytes anything can be made.
_POINTEES = {
    **dict.fromkeys(("float",), ("float", 4)), **dict.fromkeys(("double",), ("float", 8)),
    **dict.fromkeys(("half", "__half", "nv_bfloat16", "__nv_bfloat16"), ("float", 2)),
    **dict.fromkeys(("int", "unsigned int", "unsigned", "int32_t", "uint32_t"), ("integer", 4)),
    **dict.fromkeys(("short", "unsigned short", "int16_t", "uint16_t"), ("integer", 2)),
    **dict.fromkeys(("long long", "unsigned long long", "long long int", "long", "unsigned long", "int64_t", "uint64_t", "size_t"), ("integer", 8)),
}  # fmt: skip
_LOOK_BYTES = 256 << 20  # From here on it is worth asking how much memory there is.
_COPIES = 2  # Of each array here: what it was before the launch, and what the kernel made of it.
_EMULATED_COPIES = 3  # And on the emulator: the elements, a byte for each that says whether it was written, and a message.
_QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "restrict", "__grid_constant__", "std"}


def pointee(words: Sequence[str]) -> str:
    """What a parameter of these words points to, "" where that says nothing of its elements."""
    name = " ".join(one for one in words[:-1] if one not in _QUALIFIERS)
    return name if name in _POINTEES else ""


def _insist_on_dtype(kind: np.dtype[Any], name: str, points_to: str) -> None:
    said = f"argument '{name}'"
    if kind.hasobject:
        raise LaunchError(f"{said} has dtype {kind}, whose elements are objects of Python: a kernel takes numbers, as of .astype('float32')")
    if not kind.isnative:
        raise LaunchError(f"{said} has dtype {kind}, expected this machine's byte order: pass {name}.astype({name}.dtype.newbyteorder('='))")
    if any(one.char in "gG" for one in _scalars(kind)):
        raise LaunchError(f"{said} has dtype {kind}, a long double, which no kernel has: pass .astype('float64')")
    wanted, size = _POINTEES.get(points_to, ("", 0))
    given = "float" if kind.kind == "f" or kind.name == "bfloat16" else "integer" if kind.kind in "iu" else ""
    if given == wanted and size != kind.itemsize > 1:
        raise LaunchError(f"{said} has dtype {kind} with elements of {kind.itemsize} bytes, its parameter is {points_to}*, which reads "
                          f"{size} bytes for each: pass .astype('{wanted.removesuffix('eger')}{8 * size}'), or .view of that for its bits")  # fmt: skip


def _scalars(kind: np.dtype[Any]) -> list[np.dtype[Any]]:
    """The dtypes that a structure has, its parts' parts too."""
    if kind.names:
        return [one for name in kind.names for one in _scalars(kind[name])]
    return [kind] if kind.subdtype is None else _scalars(kind.subdtype[0])


def _overlaps_itself(array: Array) -> bool:
    """Whether elements share memory, as those of a broadcast array: what a kernel wrote to one would be lost by the other."""
    reach = array.itemsize
    for stride, size in sorted((abs(stride), size) for stride, size in zip(array.strides, array.shape) if size > 1):
        if stride < reach:
            return bool(array.size)
        reach += stride * (size - 1)
    return False


def memory_of(value: Any) -> Any:
    """Equal for arrays that are the same elements in the same order."""
    if not isinstance(value, np.ndarray) or not value.size:
        return id(value)
    return value.ctypes.data, value.shape, value.strides, value.dtype, value.flags.writeable


def _bytes_of(value: Any) -> int:
    """Of all its elements, each as often as it is in the array; 0 where the array does not say."""
    size = getattr(value, "nbytes", None)
    if isinstance(size, (int, np.integer)):
        return int(size)
    count = getattr(value, "size", 0)
    return int(count) * int(getattr(value.dtype, "itemsize", 0)) if isinstance(count, (int, np.integer)) else 0


def _host_bytes_left() -> int | None:
    """What this machine can give without taking from others; None where it does not say."""
    try:
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), None)


def insist_on_room(device: Device, arrays: Sequence[tuple[str, Any]]) -> None:
    """LaunchError where the device or this machine cannot hold the arrays, before anything is copied: the kernel of the
    operating system ends processes for what is too much, and not always the one that asked."""
    sizes = [(_bytes_of(value), name) for name, value in arrays]
    total = sum(size for size, _ in sizes)
    if total < _LOOK_BYTES and total <= device.memory_limit_bytes:
        return
    largest, name = max(sizes)
    properties = device.properties
    limit, left = properties["memory_bytes"], _host_bytes_left()
    said = f"argument '{name}' has {largest} bytes" + (f", all arrays of the call {total}" if total != largest else "")
    if total > limit:
        raise LaunchError(f"{said}, and the device has {limit}: pass fewer elements, or device=gpuemu.Device(memory_limit_bytes=...) with more")
    needed = total * (_COPIES + (_EMULATED_COPIES if properties["backend"] != "cuda" else 0))
    if left is not None and needed > left:
        raise LaunchError(f"{said}, for which {needed} bytes of this machine's memory are needed, copies included; {left} are left: pass fewer elements")


class Buffer:
    """An argument that is an array: its elements on the device, and the way back into the caller's array. points_to: what the
    source says that the parameter points to."""

    def __init__(self, device: Device, value: Any, name: str, points_to: str = "") -> None:
        self.device, self.value, self.name = device, value, name
        try:
            array = tensors.as_array(value, f"argument '{name}'")
        except TypeError as problem:
            raise LaunchError(str(problem)) from None
        _insist_on_dtype(array.dtype, name, points_to)
        self.before = np.ascontiguousarray(array)
        self.address = device.allocate(self.before.nbytes, name)
        try:
            if self.before.nbytes:
                device.upload(self.address, self.before.reshape(-1).view(np.uint8))
        except BaseException:
            self.free()
            raise

    def free(self) -> None:
        self.device.free(self.address)

    def changed(self) -> Array | None:
        """What the kernel made of it; None when it is the same. Raises LaunchError where the caller's array cannot take it."""
        raw = self.device.download(self.address, self.before.nbytes)
        if raw == self.before.tobytes():
            return None
        if isinstance(self.value, np.ndarray):
            wrote = f"the kernel wrote to argument '{self.name}', "
            if not self.value.flags.writeable:
                raise LaunchError(f"{wrote}which is a read-only array")
            if _overlaps_itself(self.value):
                raise LaunchError(f"{wrote}of which several elements are one in memory (strides {self.value.strides}): pass a .copy()")
        return np.frombuffer(raw, dtype=self.before.dtype).reshape(self.before.shape)

    def write_back(self, after: Array) -> None:
        """Into the caller's array."""
        if isinstance(self.value, np.ndarray):
            self.value[...] = after
        elif hasattr(self.value, "copy_"):  # torch
            self._write_torch(after)
        elif tensors.is_cupy(self.value):
            import cupy

            self.value[...] = cupy.asarray(after)  # Views with strides too, which set() refuses.
        else:
            raise LaunchError(
                f"the kernel wrote to argument '{self.name}', a {type(self.value).__name__} that cannot be changed in place: "
                "pass an array of NumPy or CuPy or a torch tensor"
            )

    def _write_torch(self, after: Array) -> None:
        import torch

        if str(self.value.dtype) == "torch.bfloat16":
            made = torch.from_numpy(after.view(np.int16).copy()).view(torch.bfloat16)
        else:
            made = torch.from_numpy(after.copy())
        with torch.no_grad():
            self.value.copy_(made)


def write_back(buffers: Sequence[Buffer]) -> None:
    """Of all buffers that the kernel changed, or of none: LaunchError before the first is written."""
    changed = [(one, after) for one in buffers if (after := one.changed()) is not None]
    for at, (one, _) in enumerate(changed):
        for other, _ in changed[:at]:
            if _share(one.value, other.value):
                raise LaunchError(f"the kernel wrote to arguments '{other.name}' and '{one.name}', which share memory here and are two buffers "
                                  "on the device: pass one array, and offsets into it, or copies")  # fmt: skip
    for one, after in changed:
        one.write_back(after)


def _share(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return False
    try:
        return np.shares_memory(one, other, max_work=_OVERLAP_WORK)  # type: ignore[arg-type,unused-ignore]
    except RuntimeError:  # TooHardError, whose place differs between versions of NumPy.
        return True
