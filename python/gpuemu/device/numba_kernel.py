"""Runs Numba CUDA kernels without a GPU: Numba compiles them to PTX, and the emulator executes it with all checks.

    @gpuemu.numba
    def add(x, y):
        i = cuda.grid(1)
        if i < y.size: y[i] += x[i]

    add[4, 256](x, y)

Accepts plain functions and @cuda.jit kernels. Needs the package numba-cuda and NVRTC (nvidia-cuda-nvrtc), but no driver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuemu.device.device import Device, Report, shared_device
from gpuemu.device.kernel import CHECKS, Kernel, bounds_of, checks_of, is_array
from gpuemu.device.storages import view_of
from gpuemu.errors import LaunchError


class NumbaKernel:
    """A Numba kernel on the emulator (or with backend="cuda" on a GPU). Compiled once for each combination of argument types."""

    def __init__(self, function: Any, *, backend: str = "emulator", arch: str = "sm_80", checks: Sequence[str] = CHECKS,
                 timeout_ms: int = 30000, device: Device | None = None, bounds: str = "view") -> None:  # fmt: skip
        self.function = getattr(function, "py_func", function)
        self.device = device or shared_device(backend, arch)
        self.checks, self.timeout_ms, self.bounds = checks_of(checks), timeout_ms, bounds_of(bounds)
        self.report, self.ptx = Report(), ""
        self._compiled: dict[tuple[str, ...], Kernel] = {}

    def __getitem__(self, size: tuple[Any, ...]) -> Callable[..., None]:
        """Returns a launcher: kernel[grid, block] or kernel[grid, block, stream, bytes of dynamic shared memory], as in Numba."""
        if not isinstance(size, tuple) or not 2 <= len(size) <= 4:
            raise LaunchError("write kernel[grid, block](...) or kernel[grid, block, stream, shared_bytes](...)")
        return lambda *args: self.launch(size[0], size[1], args, shared_bytes=size[3] if len(size) == 4 else 0)

    def launch(self, grid: Any, block: Any, args: Sequence[Any], *, shared_bytes: int = 0, profile: bool = False) -> None:
        """Launches the kernel. Raises KernelError with the line of the Python source when the kernel is faulty."""
        from numba import typeof

        parameters = self._names(len(args))
        types = [typeof(view_of(one, name).like() if is_array(one) else one) for name, one in zip(parameters, args)]
        key = tuple(str(one) for one in types)
        if key not in self._compiled:
            self._compiled[key] = self._compile(types)
        kernel = self._compiled[key]
        self.ptx = kernel.ptx
        given: list[Any] = []
        names: list[str] = []
        for name, value in zip(parameters, args):
            words = _words(name, value)
            given += words
            names += [name] * len(words)
        try:
            kernel.launch(grid, block, given, shared_bytes=shared_bytes, profile=profile, names=names)
        finally:
            self.report = kernel.report

    def _names(self, count: int) -> list[str]:
        code = self.function.__code__
        if code.co_argcount != count:
            raise LaunchError(f"'{self.function.__name__}' takes {code.co_argcount} arguments, {count} are given")
        return list(code.co_varnames[:count])

    def _compile(self, types: list[Any]) -> Kernel:
        from numba import cuda, void

        sm = self.device.properties["sm"]
        ptx, _ = cuda.compile_ptx(self.function, void(*types), cc=(sm // 10, sm % 10), abi="numba", device=False, lineinfo=True)
        return Kernel(ptx, checks=self.checks, timeout_ms=self.timeout_ms, device=self.device, bounds=self.bounds)


def _words(name: str, value: Any) -> list[Any]:
    """Returns the parameters that Numba passes for an argument: for an array, its owner, size, data, shape and strides."""
    if not is_array(value):
        return [np.float64(value) if isinstance(value, float) else value]
    view = view_of(value, name)
    return [None, None, int(np.prod(view.shape, dtype=object)), view.dtype.itemsize, value, *view.shape, *view.strides]


def numba(function: Any = None, **options: Any) -> Any:
    """Returns the kernel for calls without a GPU: a decorator, or a function that takes a @cuda.jit kernel. Options are those of
    NumbaKernel."""
    if function is None:
        return lambda one: NumbaKernel(one, **options)
    return NumbaKernel(function, **options)
