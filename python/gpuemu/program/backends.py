"""The places that set_backend names."""

from __future__ import annotations

import threading
from typing import Any

from gpuemu.program.errors import BackendError
from gpuemu.program.places import HostPlace, Place
from gpuemu.program.plan import BindingPlan
from gpuemu.program.values import GraphData
from gpuemu.tensors import Array

BACKENDS = ("auto", "emulator", "cuda", "numpy")


class RemotePlace(Place):
    """The workers of a daemon."""

    def __init__(self, backend: str, index: int, arch: str | None) -> None:
        self.name = f"daemon:{backend}:{index}"

    def put(self, array: Array, dtype: str) -> Array:
        return array

    def get(self, held: Array) -> Array:
        return held.copy()

    def prepare(self, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan) -> Any:
        raise no_remote_ops()


def no_remote_ops() -> BackendError:
    """The daemon has no request that runs an op of a program."""
    return BackendError("this version of the daemon runs no ops of programs in its workers: call gpuemu.program.set_backend(\"emulator\", local=True) "
                        "for this process, or set_backend(\"numpy\") for references on the host")  # fmt: skip


_lock = threading.Lock()
_places: dict[tuple[Any, ...], Place] = {}
NUMPY = HostPlace()


def place_of(backend: str, device: Any, local: bool, arch: str | None) -> Place:
    """The place of these settings; one for each."""
    if backend == "numpy":
        return NUMPY
    if not local:
        return RemotePlace(backend, device, arch)
    from gpuemu.program.local import LocalPlace

    key = (backend, device if isinstance(device, int) else id(device), arch)
    with _lock:
        found = _places.get(key)
        if found is None or found.is_closed:
            found = _places[key] = LocalPlace(backend, device, arch)
        return found
