"""Prepares Numba for `gpuemu run`: its PTX gets line tables, so that findings name lines of the Python file, and is linked as
PTX."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any


def prepare(module: ModuleType) -> None:
    """Makes `lineinfo=True, lto=False` the default of `cuda.jit`; kernels with debug information already have lines."""
    from numba.cuda import decorators
    from numba.core import config

    own = decorators.jit

    @functools.wraps(own)
    def jit(*arguments: Any, **options: Any) -> Any:
        has_debug = options.get("debug")
        if has_debug is None:
            has_debug = getattr(config, "CUDA_DEBUGINFO_DEFAULT", 0)
        if not has_debug:
            options.setdefault("lineinfo", True)
        options.setdefault("lto", False)  # Otherwise Numba passes its intermediate code to nvJitLink when it can.
        return own(*arguments, **options)

    decorators.jit = jit
    module.jit = jit  # type: ignore[attr-defined]
