"""Makes PTX the binary of Triton's kernels, by Triton's hook for the stages of its compiler: the emulated driver runs PTX."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

KEY = "gpuemu-ptx-1"  # Part of the key of Triton's cache: what this module makes of a kernel is no machine code.


def prepare(triton: ModuleType) -> None:
    """Sets the hook. Raises ImportError where this version of Triton has none."""
    if os.environ.get("TRITON_INTERPRET", "0").lower() in ("1", "true", "on", "yes", "y"):
        return
    runtime: Any = getattr(getattr(triton, "knobs", None), "runtime", None)
    if not hasattr(type(runtime), "add_stages_inspection_hook"):
        raise ImportError(f"gpuemu: Triton {triton.__version__} has no hook for the stages of its compiler; install triton 3.5 or later")
    runtime.add_stages_inspection_hook = add_stages


def add_stages(backend: Any = None, stages: Any = None, options: Any = None, language: Any = None, capability: Any = None) -> Any:
    """The hook: without arguments it gives what identifies it, else it changes the stages."""
    if stages is None:
        return KEY, KEY
    if "cubin" in stages:
        stages["cubin"] = lambda ptx, metadata: ptx.encode()
    return None
