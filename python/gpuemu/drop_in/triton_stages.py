"""Makes Triton compile kernels to PTX instead of machine code, because the emulated driver runs PTX: with Triton's hook for compiler
stages, and up to Triton 3.5, which has no such hook, with a backend in Triton's table of backends."""

from __future__ import annotations

import dataclasses
import functools
import re
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from gpuemu.torch.driver import driver

TESTED = "3.2 to 3.9"
KEY = "gpuemu-ptx-4"  # Part of the key of Triton's cache, so that PTX and machine code of a kernel are kept apart.
_FUNCTION = re.compile(r"tt\.func public @\w+\((.*?)\)\s*(?:->|attributes|\{)", re.DOTALL)
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)", re.M)
_PARAMETER = re.compile(r"%(\w+): ")


def prepare(triton: ModuleType) -> None:
    """Makes PTX the last stage of Triton's compiler. Raises ImportError if this version of Triton offers no way to do that."""
    runtime: Any = getattr(getattr(triton, "knobs", None), "runtime", None)
    if hasattr(type(runtime), "add_stages_inspection_hook"):
        runtime.add_stages_inspection_hook = add_stages
        return
    table = getattr(getattr(triton, "backends", None), "backends", None)
    if not isinstance(table, dict) or not hasattr(getattr(table.get("nvidia"), "compiler", None), "add_stages"):
        raise ImportError(f"gpuemu works with Triton {TESTED}; install one of them, for example pip install triton==3.5.1")
    table["nvidia"] = dataclasses.replace(table["nvidia"], compiler=_backend(table["nvidia"].compiler))


def _backend(own: type) -> type:
    class Backend(own):  # type: ignore[misc]
        """Triton's backend with PTX as the last stage."""

        def add_stages(self, stages: Any, options: Any, *language: Any) -> None:  # Triton passes a language from 3.4 on.
            super().add_stages(stages, options, *language)
            add_stages(self, stages)

        def hash(self) -> str:
            return f"{super().hash()}-{add_stages()[0]}"

    return Backend


def add_stages(backend: Any = None, stages: Any = None, options: Any = None, language: Any = None, capability: Any = None) -> Any:
    """The hook: without arguments it returns the strings that identify it, otherwise it changes the stages."""
    if stages is None:
        key = f"{KEY}-{newest_version()}"
        return key, key
    if "cubin" not in stages:  # Another backend.
        return None
    names: list[str] = []
    if "ttir" in stages:
        own = stages["ttir"]

        def with_names(source: Any, metadata: Any) -> Any:
            made = own(source, metadata)
            names[:] = parameters_of(str(made))
            return made

        stages["ttir"] = with_names
    stages["cubin"] = lambda ptx, metadata: of_known_version(named(ptx, metadata["name"], names)).encode()
    return None


@functools.cache
def newest_version() -> int:
    """Returns the newest PTX version that the emulated driver loads: 90 for 9.0."""
    from triton.backends.nvidia.compiler import ptx_get_version

    try:
        return int(ptx_get_version("{}.{}".format(*driver().version)))
    except RuntimeError:  # Triton is older than the driver's version, so that all PTX that it writes is known.
        return sys.maxsize


def of_known_version(ptx: str) -> str:
    """Returns the PTX with a version that the driver loads. Triton writes the version of its assembler, which is newer than the
    code needs."""
    major, minor = divmod(newest_version(), 10)
    found = _VERSION.search(ptx)
    if found is None or (int(found[1]), int(found[2])) <= (major, minor):
        return ptx
    return _VERSION.sub(f".version {major}.{minor}", ptx, count=1)


def parameters_of(ttir: str) -> list[str]:
    """Returns the parameters of the kernel, under the author's names."""
    found = _FUNCTION.search(ttir)
    return _PARAMETER.findall(found[1]) if found else []


def named(ptx: str, kernel: str, names: Sequence[str]) -> str:
    """Returns the PTX with the author's names for parameters, which findings show."""
    used = set(re.findall(r"(?<![.%\w$])[\w$]+", ptx))  # Excludes the x of %tid.x.

    def name_of(found: re.Match[str]) -> str:
        index = int(found[1])
        fits = index < len(names) and names[index] not in used and re.fullmatch(r"[A-Za-z]\w*", names[index], re.ASCII)
        return names[index] if fits else found[0]

    return re.sub(rf"\b{re.escape(kernel)}_param_(\d+)\b", name_of, ptx)
