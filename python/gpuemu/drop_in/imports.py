"""Runs a function when a program imports a package, right after the package's own code."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

Preparation = Callable[[ModuleType], None]
TO_INSTALL = {"numba.cuda": "pip install numba-cuda[cu13]", "torch": "pip install torch --index-url https://download.pytorch.org/whl/cpu", "triton": "pip install triton"}
# The options of `gpuemu run` that turn a preparation off.
LEFT_AS_IT_IS = {"numba.cuda": "--no-numba", "torch": "--no-torch", "triton": "--no-triton"}
_FRAMES = 3  # Frames of the import system between a finder and the import statement.


class _Loader(importlib.abc.Loader):
    """Runs the package's own loader, then the preparation."""

    def __init__(self, own: Any, then: Preparation) -> None:
        self.own, self.then = own, then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self.own.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.own
        module.__loader__ = self.own
        self.own.exec_module(module)
        try:
            self.then(module)
        except Exception as problem:
            name, version = module.__name__, getattr(module, "__version__", "")
            option = LEFT_AS_IT_IS.get(name)
            how = f"`gpuemu run {option}` leaves it as it is" if option else "install another version of it"
            raise ImportError(f"gpuemu cannot give {name} {version} the emulated GPU: {problem}; {how}") from problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


def _is_import() -> bool:
    """True if an import statement searches for the module, False if a caller only checks that it exists."""
    frame = sys._getframe(2)
    names: list[str] = []
    while frame is not None and len(names) < _FRAMES:
        names.append(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return "_find_and_load_unlocked" in names


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, preparations: dict[str, Preparation]) -> None:
        self.prepared = preparations
        self.asking = threading.local()  # .name: the module that this thread is looking up in the other finders.

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        then = self.prepared.get(fullname)
        if then is None or getattr(self.asking, "name", "") == fullname:
            return None
        self.asking.name = fullname
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.asking.name = ""
        if spec is None and fullname in TO_INSTALL and _is_import():
            raise ModuleNotFoundError(f"No module named '{fullname}' in {sys.executable}, which needs no build for a GPU here: {TO_INSTALL[fullname]}",
                                      name=fullname)  # fmt: skip
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, then)
        return spec


def prepare(preparations: dict[str, Preparation]) -> None:
    """Prepares these packages when they are imported. Does nothing if this was called before."""
    if preparations and not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder(preparations))
