"""Acts when a program imports torch, triton or numba.cuda; a program that imports none of them notices nothing."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

PREPARED = "GPUEMU_RUN_PREPARE"  # Names of modules, as in "torch,triton".
_FRAMES = 3  # Frames of the import system between a finder and the import statement.
FORCED = "GPUEMU_RUN_TORCH"  # Set by --torch.


def _torch(_: ModuleType) -> None:
    import gpuemu.torch

    if FORCED in os.environ or not gpuemu.torch.sees_a_gpu():
        gpuemu.torch.install(force=True)


def _triton(module: ModuleType) -> None:
    from gpuemu.drop_in import triton_driver

    triton_driver.prepare(module)


def _numba_cuda(module: ModuleType) -> None:
    from gpuemu.drop_in import numba_cuda

    numba_cuda.prepare(module)


_TO_INSTALL = {"numba.cuda": "pip install numba-cuda[cu13]", "torch": "pip install torch --index-url https://download.pytorch.org/whl/cpu", "triton": "pip install triton"}
_PREPARATIONS: dict[str, Callable[[ModuleType], None]] = {"torch": _torch, "triton": _triton, "numba.cuda": _numba_cuda}


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
        try:
            self.then(module)
        except Exception as problem:
            name, version = module.__name__, getattr(module, "__version__", "")
            raise ImportError(f"gpuemu cannot give {name} {version} the emulated GPU: {problem}; `gpuemu run --no-{name.partition('.')[0]}` leaves it as it is") from problem

    def __getattr__(self, name: str) -> Any:
        return getattr(self.own, name)


def _is_import() -> bool:
    """Whether an import statement asks, and not one who only wants to know."""
    frame = sys._getframe(2)
    names: list[str] = []
    while frame is not None and len(names) < _FRAMES:
        names.append(frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return "_find_and_load_unlocked" in names


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, names: Sequence[str]) -> None:
        self.prepared = {name: _PREPARATIONS[name] for name in names if name in _PREPARATIONS}
        self.asking = threading.local()  # .name: what this thread asks the other finders for.

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        then = self.prepared.get(fullname)
        if then is None or getattr(self.asking, "name", "") == fullname:
            return None
        self.asking.name = fullname
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.asking.name = ""
        if spec is None and _is_import():
            raise ModuleNotFoundError(f"No module named '{fullname}' in {sys.executable}, which needs no build for a GPU here: {_TO_INSTALL[fullname]}",
                                      name=fullname)  # fmt: skip
        if spec is not None and spec.loader is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, then)
        return spec


def start() -> None:
    """Begins to wait for imports, in processes below `gpuemu run`. Called by gpuemu-run.pth of an installed package, which an isolated
    Python (-I, -E) reads too, and by sitecustomize.py of PYTHONPATH; the second call does nothing."""
    if "GPUEMU_RUN" in os.environ:
        prepare_imports([name for name in os.environ.get(PREPARED, "torch,triton,numba.cuda").split(",") if name])


def prepare_imports(names: Sequence[str]) -> None:
    """Prepares these packages when they are imported, unless that is arranged already."""
    if names and not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder(names))
