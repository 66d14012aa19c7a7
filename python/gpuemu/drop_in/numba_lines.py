"""Numba under `gpuemu run`: its PTX gets line tables, so that findings name lines of the Python file."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any


def prepare(module: ModuleType) -> None:
    """Makes `lineinfo=True` the default of `cuda.jit`, except for kernels with debug information, which have lines anyway."""
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
        return own(*arguments, **options)

    decorators.jit = jit
    module.jit = jit  # type: ignore[attr-defined]
