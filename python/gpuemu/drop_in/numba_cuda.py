"""Prepares Numba for `gpuemu run`: its PTX gets line tables, so that findings name lines of the Python file, and is linked as
PTX, also where a program asks for optimization at link time."""

from __future__ import annotations

import functools
import sys
from types import ModuleType
from typing import Any


def prepare(module: ModuleType) -> None:
    """Makes `lineinfo=True` the default of `cuda.jit`, since only kernels with debug information already have lines, and takes
    `lto=True` for `lto=False`, because gpuemu links PTX and not Numba's intermediate code."""
    from numba.cuda import decorators
    from numba.core import config

    own = decorators.jit

    @functools.cache
    def say_lto() -> None:
        print("gpuemu: kernels with lto=True are linked as PTX, without optimization at link time", file=sys.stderr, flush=True)

    @functools.wraps(own)
    def jit(*arguments: Any, **options: Any) -> Any:
        has_debug = options.get("debug")
        if has_debug is None:
            has_debug = getattr(config, "CUDA_DEBUGINFO_DEFAULT", 0)
        if not has_debug:
            options.setdefault("lineinfo", True)
        if options.get("lto"):
            say_lto()
        options["lto"] = False
        return own(*arguments, **options)

    decorators.jit = jit
    module.jit = jit  # type: ignore[attr-defined]
