"""Launches CUDA and PTX kernels on arrays, on the emulator with all its checks or on a GPU.

    add = gpuemu.Kernel('''extern "C" __global__ void add(const float* x, float* y, int n) {
      int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < n) y[i] += x[i];
    }''', "add")
    add[(4,), (256,)](x, y, 1000)                  # NumPy, torch, CuPy; y is changed in place
"""

from __future__ import annotations

import ast
import inspect
import pathlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from gpuemu import arguments
from gpuemu.device.buffers import Buffer, insist_on_dtype, insist_on_room, pointee, write_back
from gpuemu.device.device import Device, Entry, Module, Report, shared_device
from gpuemu.device.storages import BOUNDS, View, regions_of, view_of
from gpuemu.errors import DeviceError, KernelError, LaunchError

CHECKS = ("memory", "init", "race", "sync")
_ALL_CHECKS = (*CHECKS, "race_shared", "race_global", "division", "nonfinite", "writes")
_FLOATS: dict[str, Any] = {"f16": np.float16, "f32": np.float32, "f64": np.float64}
_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
_NO_FILE = "<source>"  # File name in findings about a source that is in no file.
_IN_FOLDER = re.compile(f'"[^"\\n]*/{_NO_FILE}"')  # Compilers put their working directory before the name.


def dims(size: Any, what: str) -> tuple[int, ...]:
    """Returns a size as a tuple of one to three integers."""
    found = tuple(size) if isinstance(size, Iterable) else (size,)
    if not 1 <= len(found) <= 3 or not all(isinstance(one, (int, np.integer)) and 0 < one < 2**32 for one in found):
        raise LaunchError(f"{what} is {size!r}, expected one to three positive integers below 2^32")
    return tuple(int(one) for one in found)


def checks_of(names: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of emulator checks; empty for none. Rejects unknown names, which would check nothing."""
    empty = not isinstance(names, str) and len(names) == 0
    return () if empty else tuple(arguments.names(names, "checks", _ALL_CHECKS))


def bounds_of(name: str) -> str:
    """Returns the name of the bounds after checking it."""
    if name not in BOUNDS:
        raise ValueError(f"bounds is {name!r}, expected one of {', '.join(BOUNDS)}")
    return name


def is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic)


class Kernel:
    """A kernel of CUDA C++ or PTX.

    source: the text, or the path of a .cu or .ptx file.
    entry: "scale", or for templates "softmax<float>"; optional if there is only one.
    backend: "emulator", "cuda", or "auto": a GPU if one answers. arch: the architecture to emulate.
    flags, include_dirs: for the compiler. checks: of the emulator; see docs/reference/findings.md.
    bounds: "view" reports accesses outside of the array's first to last element; "storage" only those outside of its storage, all
    of which a GPU lets a kernel use.

    Calls raise KernelError when the kernel is faulty, LaunchError when it cannot be launched with these arguments. `report` is
    the result of the last launch.
    """

    def __init__(self, source: str | pathlib.Path, entry: str | None = None, *, backend: str = "emulator",
                 arch: str = "sm_80", flags: Sequence[str] = (), include_dirs: Sequence[str] = (),
                 checks: Sequence[str] = CHECKS, timeout_ms: int = 30000, device: Device | None = None,
                 bounds: str = "view") -> None:  # fmt: skip
        self.device = device or shared_device(backend, arch)
        self.checks, self.timeout_ms, self.bounds = checks_of(checks), timeout_ms, bounds_of(bounds)
        flags, include_dirs = arguments.texts(flags, "flags"), arguments.texts(include_dirs, "include_dirs")
        if entry is not None and not isinstance(entry, str):
            raise LaunchError(f"the entry is {entry!r:.80}, expected a name such as 'scale' or 'softmax<float>'")
        self.report = Report()
        text, path = _read(source)
        lowered: dict[str, str] = {}
        declared = _parameters(text, entry)
        self.names = [words[-1] for words, _ in declared]
        self._points_to = [pointee(words) if points else "" for words, points in declared]
        source = ""
        if not _is_ptx(text, path):
            source = text
            text, lowered = self.device.compile(_source_name(path), _with_place(text, path), flags=["-lineinfo", *flags], include_dirs=include_dirs,
                                                names=[entry] if entry else [])  # fmt: skip
            text = _IN_FOLDER.sub(f'"{_NO_FILE}"', text)
        self.module: Module = self.device.load(text, pathlib.Path(path).name, source)
        self.entry: Entry = self._choose(lowered.get(entry, entry) if entry else None)

    def _choose(self, name: str | None) -> Entry:
        there = self.module.entries
        if name is None and len(there) == 1:
            return next(iter(there.values()))
        if name is None or name not in there:
            if not there:
                raise LaunchError(f"{self.module.name} has no kernel: expected a function that is __global__ (in PTX: an .entry)")
            asked = "no entry is named" if name is None else f"there is no entry '{name}'"
            raise LaunchError(f"{asked}; {self.module.name} has {', '.join(there)}")
        return there[name]

    @property
    def ptx(self) -> str:
        """The PTX that was compiled or given."""
        return self.module.ptx

    def __getitem__(self, size: tuple[Any, ...]) -> Callable[..., None]:
        """Returns a launcher: kernel[grid, block] or kernel[grid, block, bytes of dynamic shared memory]."""
        if not isinstance(size, tuple) or len(size) not in (2, 3):
            raise LaunchError("write kernel[grid, block](...) or kernel[grid, block, shared_bytes](...)")
        return lambda *args, **options: self.launch(size[0], size[1], args, shared_bytes=size[2] if len(size) == 3 else 0, **options)

    def launch(self, grid: Any, block: Any, args: Sequence[Any], *, shared_bytes: int = 0, profile: bool = False,
               names: Sequence[str] | None = None, symbols: Mapping[str, Any] | None = None) -> None:  # fmt: skip
        """Copies the storages of arrays to the device and, if the kernel changed them, back. Arrays that are views of one storage
        share memory on the device, too. `names` are for findings; the default are the parameter names in the source. `symbols`
        are values for `__constant__` and `__device__` variables, by name, set before the launch: arrays, NumPy scalars or bytes.
        Later launches see the same values."""
        if len(args) != len(self.entry.params):
            wanted = ", ".join(f"{one.name}: {one.type or str(one.bytes) + ' bytes'}" for one in self.entry.params)
            raise LaunchError(f"'{self.entry.name}' takes {len(self.entry.params)} arguments ({wanted}), {len(args)} are given")
        points_to = self._points_to if len(self._points_to) == len(args) else [""] * len(args)
        names = names or (self.names if len(self.names) == len(args) else [f"arg{i}" for i in range(len(args))])
        views = {i: self._view(i, value, names[i], points_to[i]) for i, value in enumerate(args) if is_array(value)}
        regions = regions_of(list(views.values()))
        insist_on_room(self.device, regions)
        buffers: list[Buffer] = []
        try:
            addresses: dict[int, int] = {}
            for region in regions:
                buffers.append(Buffer(self.device, region))
                addresses.update({id(view): buffers[-1].address_of(view) for view in region.views})
            packed = [self._bytes_of(i, addresses[id(views[i])] if i in views else value) for i, value in enumerate(args)]
            self.report = self.device.launch(
                self.module, self.entry.name, dims(grid, "the grid"), dims(block, "the block"), packed,
                shared_bytes=shared_bytes, timeout_ms=self.timeout_ms, sanitize=self.checks, profile=profile,
                buffers=[one.allocation for one in buffers],
                symbols={key: _symbol(key, value) for key, value in (symbols or {}).items()},
            )  # fmt: skip
            for finding in self.report.findings:
                finding.message += "".join(one.explain(finding.tensor) for one in buffers)
                if finding.kind.lower().startswith("uninit") and finding.tensor in self.module.unset:
                    finding.message += "; it is __constant__ and nothing sets all of it: pass symbols={\"NAME\": array} to the launch"
            for line in self.report.printed:
                print(line)
            faults = [one for one in self.report.findings if not one.is_note]
            if faults:
                raise KernelError(faults)
            write_back(buffers)
        except DeviceError as refusal:
            if refusal.code != "InvalidArgument":
                raise
            raise LaunchError(str(refusal)) from None
        finally:
            self._release(buffers)

    def _view(self, index: int, value: Any, name: str, points_to: str) -> View:
        param = self.entry.params[index]
        if param.bytes != 8 or param.type in _FLOATS:
            raise LaunchError(f"argument {index} of '{self.entry.name}', '{name}', is an array, its parameter is {param.type or f'{param.bytes} bytes'}: "
                              "give a number, as of .item(), or the bytes of a structure")  # fmt: skip
        view = view_of(value, name, self.bounds)
        insist_on_dtype(view.dtype, name, points_to)
        return view

    def _release(self, buffers: list[Buffer]) -> None:
        for buffer in buffers:
            try:
                buffer.free()
            except DeviceError:
                return  # The process ended, and its memory is lost.

    def _bytes_of(self, index: int, value: Any) -> bytes:
        param = self.entry.params[index]
        said = f"argument {index} of '{self.entry.name}'"
        if value is None and param.bytes == 8:
            value = 0
        whole = isinstance(value, (int, np.integer, np.bool_))
        if isinstance(value, (bytes, bytearray)):
            made = bytes(value)
        elif param.type in _FLOATS and (whole or is_real(value)):
            made = _float(value, param.type, said)
        elif whole and (param.type in _INTEGERS or not isinstance(value, np.integer)):
            made = _integer(int(value), param.bytes, said)
        elif isinstance(value, np.generic) and param.type not in (*_FLOATS, *_INTEGERS):
            made = value.tobytes()  # The parameter has a size but no type.
        elif isinstance(value, float) and param.type == "b16":
            made = _float(value, "f16", said)
        else:
            raise LaunchError(f"{said} is of type {type(value).__name__}, its parameter is {param.type or f'{param.bytes} bytes'}; "
                              "give an array, a number, a NumPy scalar or the bytes of a structure")  # fmt: skip
        if len(made) != param.bytes:
            raise LaunchError(f"{said} has {len(made)} bytes, its parameter has {param.bytes} ({param.type or 'a structure'})")
        return made


def _symbol(name: str, value: Any) -> bytes:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if not is_array(value) and not isinstance(value, np.generic):
        raise LaunchError(f"the symbol '{name}' is given a {type(value).__name__}, expected an array, bytes or a NumPy scalar such as numpy.float32(0.5)")
    return np.ascontiguousarray(np.asarray(value)).tobytes()


def is_real(value: Any) -> bool:
    """True for a floating-point number of Python or NumPy, including bfloat16."""
    return isinstance(value, (float, np.floating)) or (isinstance(value, np.generic) and value.dtype.name == "bfloat16")


def _float(value: Any, kind: str, said: str) -> bytes:
    """Converts a number to a float parameter. A Python number is rounded, as in C; a NumPy number has a type already and must be
    representable."""
    try:
        with np.errstate(over="ignore"):
            made = _FLOATS[kind](value)
    except OverflowError:  # The integer is larger than float64.
        made = _FLOATS[kind](np.inf)
    given = int(value) if isinstance(value, (int, np.integer, np.bool_)) else float(value)
    rounds = type(value) is float and not np.isinf(made)
    if not rounds and float(made) != given and given == given:  # NaN is accepted.
        raise LaunchError(f"{said} is {value!r}, which {kind} cannot hold: the nearest is {float(made):.9g}; "
                          f"pass numpy.{_FLOATS[kind].__name__}(value) if that is meant")  # fmt: skip
    return bytes(made.tobytes())


def _integer(value: int, size: int, said: str) -> bytes:
    if size > 8:
        raise LaunchError(f"{said} is a number, its parameter a structure of {size} bytes: give its bytes")
    if not -(1 << (8 * size - 1)) <= value < 1 << (8 * size):
        raise LaunchError(f"{said} is {value}, which does not fit into {size} bytes")
    return (value & ((1 << (8 * size)) - 1)).to_bytes(size, "little")


def _read(source: str | pathlib.Path) -> tuple[str, str]:
    """Returns the text and the path of its file: a source or PTX file, else the Python file of the caller."""
    if not isinstance(source, (str, pathlib.Path)):
        raise LaunchError(f"the source is {source!r:.80}, expected CUDA C++ or PTX as text, or the path of a .cu or .ptx file")
    if not str(source).strip():
        raise LaunchError("the source is empty, expected CUDA C++ or PTX")
    if any("\ud800" <= one <= "\udfff" for one in str(source)):
        raise LaunchError("the source has a lone surrogate, which no file can hold: it was decoded from bytes that are no UTF-8")
    if isinstance(source, pathlib.Path) or ("\n" not in source and source.endswith((".cu", ".cuh", ".ptx"))):
        path = pathlib.Path(source).resolve()
        if not path.is_file():
            raise LaunchError(f"there is no file '{path}'")
        try:
            return path.read_text(), str(path)
        except UnicodeDecodeError as problem:
            raise LaunchError(f"'{path}' is no text: {problem}") from None
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "gpuemu":
        frame = frame.f_back
    caller = frame.f_code.co_filename if frame is not None else "<source>"
    return source, str(pathlib.Path.cwd() / _NO_FILE) if caller.startswith("<") else str(pathlib.Path(caller).resolve())


def _source_name(path: str) -> str:
    """Returns the file name for the compiler; includes are searched in its folder."""
    return path if path.endswith((".cu", ".cuh")) else path + ".cu"


def _with_place(text: str, path: str) -> str:
    """Adds a #line directive to the source: if it is a literal of a Python file, its place there, so that findings name lines of
    that file; otherwise a mark that it is in no file. Without it findings would name the compiler's temporary file."""
    if path.endswith((".cu", ".cuh")):
        return text
    try:
        literals = [one for one in ast.walk(ast.parse(pathlib.Path(path).read_bytes())) if isinstance(one, ast.Constant)]
    except (OSError, SyntaxError, ValueError):
        literals = []
    for one in literals:
        # If file and text have the same number of lines, no lines were joined and the lines match one to one.
        if one.value == text and one.end_lineno == one.lineno + text.count("\n"):
            return f'#line {one.lineno} "{path}"\n{text}'
    return f'#line 1 "{_NO_FILE}"\n{text}'


def _parameters(text: str, entry: str | None) -> list[tuple[list[str], bool]]:
    """Returns, for the definition of `entry` in the source, the words of each parameter (the last is its name) and whether it is
    a pointer to the type that they name; empty if no definition is recognized."""
    plain = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)
    name = re.escape(entry.split("<")[0].split("::")[-1].strip()) if entry else r"\w+"
    found = re.search(rf"__global__[^;{{}}()]*?(?:__launch_bounds__\s*\([^)]*\)\s*)?[^;{{}}()]*?\b{name}\s*\(([^)]*)\)", plain)
    given = [one.split("=")[0] for one in found[1].split(",")] if found and found[1].strip() else []
    return [(words, one.count("*") + one.count("[") == 1) for one in given if (words := re.findall(r"\w+", one))]


def _is_ptx(text: str, path: str) -> bool:
    return path.endswith(".ptx") or any(line.lstrip().startswith(".version") for line in text.splitlines()[:50])
