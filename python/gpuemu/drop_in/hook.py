"""Acts when a program imports torch or triton; a program that imports neither notices nothing."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

PREPARED = "GPUEMU_RUN_PREPARE"  # Names of packages, as in "torch,triton".
FORCED = "GPUEMU_RUN_TORCH"  # Set by --torch.


def _torch(_: ModuleType) -> None:
    import gpuemu.torch

    if FORCED in os.environ or not gpuemu.torch.sees_a_gpu():
        gpuemu.torch.install(force=True)


def _triton(module: ModuleType) -> None:
    from gpuemu.drop_in import triton_driver

    triton_driver.prepare(module)


_PREPARATIONS: dict[str, Callable[[ModuleType], None]] = {"torch": _torch, "triton": _triton}


class _Loader(importlib.abc.Loader):
    """The package's own loader, and what follows it."""

    def __init__(self, own: Any, then: Callable[[ModuleType], None]) -> None:
        self.own, self.then = own, then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self.own.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.own
        module.__loader__ = self.own
        self.own.exec_module(module)
        self.then(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, names: Sequence[str]) -> None:
        self.waiting = {name: _PREPARATIONS[name] for name in names if name in _PREPARATIONS}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        then = self.waiting.pop(fullname, None)
        if then is None:
            return None
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, then)
        return spec


def start() -> None:
    """Begins to wait for imports, in processes below `gpuemu run`."""
    if "GPUEMU_RUN" in os.environ:
        sys.meta_path.insert(0, _Finder(os.environ.get(PREPARED, "torch,triton").split(",")))
