"""Makes PTX the binary of Triton's kernels, by Triton's hook for the stages of its compiler: the emulated driver runs PTX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

KEY = "gpuemu-ptx-2"  # Part of the key of Triton's cache: what this module makes of a kernel is no machine code.
_FUNCTION = re.compile(r"tt\.func public @\w+\((.*?)\)\s*(?:->|attributes|\{)", re.DOTALL)
_PARAMETER = re.compile(r"%(\w+): ")


def add_stages(backend: Any = None, stages: Any = None, options: Any = None, language: Any = None, capability: Any = None) -> Any:
    """The hook: without arguments it gives what identifies it, else it changes the stages."""
    if stages is None:
        return KEY, KEY
    if "cubin" not in stages:  # Of another backend.
        return None
    names: list[str] = []
    if "ttir" in stages:
        own = stages["ttir"]

        def with_names(source: Any, metadata: Any) -> Any:
            made = own(source, metadata)
            names[:] = parameters_of(str(made))
            return made

        stages["ttir"] = with_names
    stages["cubin"] = lambda ptx, metadata: named(ptx, metadata["name"], names).encode()
    return None


def parameters_of(ttir: str) -> list[str]:
    """The parameters of the kernel, as its author named them."""
    found = _FUNCTION.search(ttir)
    return _PARAMETER.findall(found[1]) if found else []


def named(ptx: str, kernel: str, names: Sequence[str]) -> str:
    """The PTX with the author's names for parameters, which findings repeat."""
    used = set(re.findall(r"[\w$]+", ptx))

    def name_of(found: re.Match[str]) -> str:
        index = int(found[1])
        fits = index < len(names) and names[index] not in used and re.fullmatch(r"[A-Za-z]\w*", names[index], re.ASCII)
        return names[index] if fits else found[0]

    return re.sub(rf"\b{re.escape(kernel)}_param_(\d+)\b", name_of, ptx)
