"""Runs @triton.jit kernels without a GPU: Triton compiles them to PTX, and the emulator executes it with all checks.

    import gpuemu, triton, triton.language as tl

    @triton.jit
    def add(x, y, n, BLOCK: tl.constexpr): ...

    gpuemu.triton(add)[(4,)](x, y, 1000, BLOCK=256)

The call is that of Triton: grid (or a function of the constants), arguments, constants, num_warps, num_stages. Needs the package
triton, but nothing of CUDA.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuemu import dtypes_generated
from gpuemu.device.device import Device, Report, shared_device
from gpuemu.device.kernel import CHECKS, Kernel, bounds_of, checks_of, dims, is_array
from gpuemu.device.storages import view_of
from gpuemu.errors import LaunchError

# Triton's names of pointer element types: our short names, except for fp16 to fp64 and i1.
_POINTERS = {name: "i1" if one.kind == "bool" else re.sub("^f", "fp", one.short) for name, one in dtypes_generated.TABLE.items()}
_POINTERS |= {"float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5"}
_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion")
_FP8_SM = 89  # The first architecture that has all types of fp8 in Triton.
_DIVISOR = 16  # Triton specializes addresses and integers that are multiples of this.
_SCRATCH_BYTES = 8  # Size of the pointers that Triton adds after the arguments.


Rules = list[tuple[str, Callable[[dict[str, Any]], Any]]]


def _unwrapped(function: Any) -> tuple[Any, dict[str, Any], dict[str, Any], Rules]:
    """Returns the jit function inside autotune and heuristics; the constants and options of autotune's first configuration; the
    rules of heuristics in Triton's order."""
    import triton

    constants: dict[str, Any] = {}
    options: dict[str, Any] = {}
    rules: Rules = []
    while not isinstance(function, triton.runtime.JITFunction):
        if isinstance(function, triton.runtime.Heuristics):
            rules += function.values.items()
        if configs := getattr(function, "configs", None):
            constants.update(configs[0].kwargs)
            options.update({name: value for name in _OPTIONS if (value := getattr(configs[0], name, None)) is not None})
        if not hasattr(function, "fn"):
            said = f"{type(function).__name__} {getattr(function, '__name__', '')}"
            hint = "; unset TRITON_INTERPRET" if "Interpret" in type(function).__name__ else ""
            raise LaunchError(f"{said} is no @triton.jit kernel{hint}")
        function = function.fn
    return function, constants, options, rules


def _with_path(ptx: str, path: str) -> str:
    """Returns the PTX with the current path of the kernel's file. Triton's cache also matches a copy of the file elsewhere, and
    then names the file that was compiled first."""
    there = re.compile(r'^(\s*\.file\s+\d+\s+)"((?:[^"]*/)?' + re.escape(os.path.basename(path)) + r')"', re.M)
    if len(there.findall(ptx)) != 1:
        return ptx
    return there.sub(lambda found: f'{found[1]}"{path}"', ptx)


class TritonKernel:
    """A Triton kernel on the emulator (or with backend="cuda" on a GPU). `report` is the result of the last launch, `ptx` the PTX
    that Triton compiled for it. autotune: uses the first configuration, unless the call gives the constants."""

    def __init__(self, function: Any, *, backend: str = "emulator", arch: str = "sm_80", checks: Sequence[str] = CHECKS,
                 timeout_ms: int = 30000, device: Device | None = None, bounds: str = "view") -> None:  # fmt: skip
        self.function, self.constants, self.options, self.heuristics = _unwrapped(function)
        self.device = device or shared_device(backend, arch)
        self.checks, self.timeout_ms, self.bounds = checks_of(checks), timeout_ms, bounds_of(bounds)
        self.report, self.ptx = Report(), ""
        self._compiled: dict[Any, tuple[Kernel, Any]] = {}

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *args, **named: self.launch(grid, args, named)

    def launch(self, grid: Any, args: Sequence[Any], named: dict[str, Any]) -> None:
        """Launches the kernel. Raises KernelError with the line of the Python source when the kernel is faulty."""
        options = {**self.options, **{name: named.pop(name) for name in _OPTIONS if name in named}}
        # A kernel may have them as constants, too.
        named.update({name: value for name, value in options.items() if name in self.function.arg_names and name not in named})
        values = self._bound(args, named)
        types = {name: self._type(name, value) for name, value in values.items()}
        kernel, metadata = self._kernel(values, types, options)
        # Converts numbers to the type for which the kernel was compiled, like Triton: float64 is rounded, too.
        given = [(name, np.float32(value) if types[name] == "fp32" else value) for name, value in values.items() if types[name] != "constexpr"]
        extra = len(kernel.entry.params) - len(given)
        if getattr(metadata, "global_scratch_size", 0):
            raise LaunchError(f"'{self.function.__name__}' wants scratch memory of Triton's runtime, which is not provided")
        size = dims(grid(dict(values)) if callable(grid) else grid, "the grid")
        ctas = getattr(metadata, "num_ctas", 1)
        try:
            kernel.launch((size[0] * ctas, *size[1:]), 32 * metadata.num_warps,
                          [value for _, value in given] + [bytes(_SCRATCH_BYTES)] * extra,
                          shared_bytes=metadata.shared, names=[name for name, _ in given] + ["scratch"] * extra)  # fmt: skip
        finally:
            self.report = kernel.report

    def _bound(self, args: Sequence[Any], named: dict[str, Any]) -> dict[str, Any]:
        """Returns every parameter with its value, in order."""
        signature = inspect.signature(self.function.fn)
        try:
            bound = signature.bind_partial(*args, **named)
        except TypeError as problem:
            raise LaunchError(f"'{self.function.__name__}': {problem}; its parameters are {signature}") from None
        bound.apply_defaults()
        for name, value in self.constants.items():
            bound.arguments.setdefault(name, value)
        ruled = {name for name, _ in self.heuristics}
        missing = [name for name in signature.parameters if name not in bound.arguments and name not in ruled]
        for name, rule in self.heuristics if not missing else ():
            bound.arguments[name] = rule(bound.arguments)
        if missing:
            raise LaunchError(f"'{self.function.__name__}' is called without {', '.join(missing)}; its parameters are {signature}")
        return {name: bound.arguments[name] for name in signature.parameters}

    def _param(self, name: str) -> Any:
        return next(one for one in self.function.params if one.name == name)

    def _type(self, name: str, value: Any) -> str:
        """Returns Triton's name of an argument's type."""
        param = self._param(name)
        if param.is_constexpr or value is None:
            return "constexpr"
        if _is_one(value) and not param.do_not_specialize:
            return "constexpr"  # Like Triton: the compiler knows a stride that is 1.
        if is_array(value):
            kind = str(value.dtype).removeprefix("torch.")
            if kind not in _POINTERS:
                raise LaunchError(f"argument '{name}' of '{self.function.__name__}' has dtype {kind}, which Triton has no pointers to")
            return "*" + _POINTERS[kind]
        if isinstance(value, (bool, np.bool_)):
            return "i1"
        if isinstance(value, (int, np.integer)):
            return "i32" if -(2**31) <= int(value) < 2**31 else "i64" if int(value) < 2**63 else "u64"
        if isinstance(value, (float, np.floating)):
            return "fp32"
        raise LaunchError(f"argument '{name}' of '{self.function.__name__}' is of type {type(value).__name__}; give an array or a number")

    def _kernel(self, values: dict[str, Any], types: dict[str, str], options: dict[str, Any]) -> tuple[Kernel, Any]:
        """Compiles once for each combination of types, constants and options."""
        constants = {name: values[name] for name, kind in types.items() if kind == "constexpr"}
        aligned = tuple(i for i, (name, kind) in enumerate(types.items()) if kind != "constexpr" and self._is_aligned(name, kind, values[name]))
        key = (tuple(types.items()), tuple(sorted((k, repr(v)) for k, v in constants.items())), aligned, tuple(sorted(options.items())))
        if key not in self._compiled:
            self._compiled[key] = self._compile(types, constants, aligned, options)
        kernel, metadata = self._compiled[key]
        self.ptx = kernel.ptx
        return kernel, metadata

    def _is_aligned(self, name: str, kind: str, value: Any) -> bool:
        """True if Triton may assume a multiple of 16: for an address, decided by the address here, because storages have the same
        offsets on the device; for an integer, by its value."""
        param = self._param(name)
        if param.do_not_specialize or getattr(param, "do_not_specialize_on_alignment", False):
            return False
        if kind.startswith("*"):
            return view_of(value, name).address % _DIVISOR == 0
        return kind[0] in "iu" and kind != "i1" and int(value) % _DIVISOR == 0

    def _compile(self, types: dict[str, str], constants: dict[str, Any], aligned: Sequence[int], options: dict[str, Any]) -> tuple[Kernel, Any]:
        import triton
        from triton.backends.compiler import GPUTarget

        source = _source(self.function, types, constants, aligned)
        target = GPUTarget("cuda", self.device.properties["sm"], 32)
        try:
            made = triton.compile(source, target=target, options=options)
        except Exception as problem:
            if hint := _arch_hint(str(problem), target.arch):
                raise LaunchError(f"'{self.function.__name__}': {problem}; {hint}") from problem
            raise
        ptx = _with_path(made.asm["ptx"], self.function.fn.__code__.co_filename)
        kernel = Kernel(ptx, made.metadata.name, checks=self.checks, timeout_ms=self.timeout_ms, device=self.device, bounds=self.bounds)
        return kernel, made.metadata


def _source(function: Any, types: dict[str, str], constants: dict[str, Any], aligned: Sequence[int]) -> Any:
    """Returns what Triton compiles; `aligned` are the parameters that are multiples of 16."""
    from triton.compiler import ASTSource

    if "constexprs" in inspect.signature(ASTSource).parameters:
        return ASTSource(fn=function, signature=types, constexprs=constants, attrs={(i,): [["tt.divisibility", _DIVISOR]] for i in aligned})
    from triton.backends.compiler import AttrsDescriptor  # Triton 3.2

    known = {"cls": "AttrsDescriptor", "arg_properties": {"tt.divisibility": list(aligned)}}
    return ASTSource(fn=function, signature=types, constants=constants, attrs=AttrsDescriptor.from_dict(known))


def _is_one(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)) and int(value) == 1


def _arch_hint(problem: str, sm: int) -> str:
    """Suggests what to do about a type that Triton rejects for the target architecture; "" if the problem is another one."""
    if "not supported in this arch" not in problem or sm >= _FP8_SM:
        return ""
    return f'Triton compiled for sm_{sm}: give gpuemu.triton arch="sm_90" (sm_{_FP8_SM} is the first that has all types of fp8)'


def triton(function: Any, **options: Any) -> TritonKernel:
    """Returns the kernel for calls without a GPU; options are those of TritonKernel."""
    return TritonKernel(function, **options)
