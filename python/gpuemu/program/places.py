"""Where lazy tensors are computed: on the host, or on a device of this process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpuemu.program import host
from gpuemu.program.errors import BackendError
from gpuemu.program.ir import IRGraph
from gpuemu.program.plan import BindingPlan
from gpuemu.tensors import Array

BACKENDS = ("auto", "emulator", "cuda", "numpy")


class Place:
    """Executes bound programs and holds their results. `name`: as Tensor.device shows it."""

    name = ""

    def put(self, array: Array, dtype: str) -> Any:
        """The array in memory of the place."""
        raise NotImplementedError

    def get(self, held: Any) -> Array:
        """A copy of what `put` or `run` gave."""
        raise NotImplementedError

    def prepare(self, graph: IRGraph, lowered: list[dict[str, Any]], plan: BindingPlan) -> Any:
        """What is kept beside a plan for its runs."""
        return None

    def run(self, program: Any, graph: IRGraph, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Any],
            each: Callable[[int], None] | None) -> Mapping[int, Any]:  # fmt: skip
        """What the outputs of the graph are, by vid."""
        raise NotImplementedError


class HostPlace(Place):
    """References with NumPy, each result rounded once. No device and no library."""

    name = "numpy"

    def put(self, array: Array, dtype: str) -> Array:
        return array

    def get(self, held: Array) -> Array:
        return held.copy()

    def run(self, program: Any, graph: IRGraph, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Any],
            each: Callable[[int], None] | None) -> Mapping[int, Any]:  # fmt: skip
        env = {**graph.constants, **graph.lowered_constants, **sources}
        host.run(lowered, plan, env, each)
        return {vid: host.value_of(vid, plan, env) for vid in graph.outputs.values()}


class RemotePlace(Place):
    """The workers of a daemon."""

    def __init__(self, backend: str, index: int, arch: str | None) -> None:
        self.name = f"daemon:{backend}:{index}"

    def put(self, array: Array, dtype: str) -> Array:
        return array

    def get(self, held: Array) -> Array:
        return held.copy()

    def prepare(self, graph: IRGraph, lowered: list[dict[str, Any]], plan: BindingPlan) -> Any:
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
        if found is None or found.is_closed:  # type: ignore[attr-defined]
            found = _places[key] = LocalPlace(backend, device, arch)
        return found


def insist_one(kind: str, places: Sequence[Place]) -> Place:
    """The place of an op's operands. Raises BackendError where there are two."""
    for one in places[1:]:
        if one is not places[0]:
            raise BackendError(f"{kind}: the operands are on {places[0].name} and {one.name}; give both the same backend")
    return places[0]
