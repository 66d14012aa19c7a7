"""The places where lazy tensors are computed: on the host, or on a device of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gpuemu.program.host as host
from gpuemu.program.errors import BackendError
from gpuemu.program.plan import BindingPlan
from gpuemu.program.values import GraphData
from gpuemu.tensors import Array


class Place:
    """Executes bound programs and holds their results. `name`: the value of Tensor.device."""

    name = ""
    is_closed = False

    def put(self, array: Array, dtype: str) -> Any:
        """Returns the array in memory of the place."""
        raise NotImplementedError

    def get(self, held: Any) -> Array:
        """Returns a copy of a value that `put` or `run` returned."""
        raise NotImplementedError

    def number(self, value: Any, dtype: str, make: Callable[[], Any]) -> Any:
        """Returns a number of a tensor's dtype as a value: a new one from make(), or an earlier one."""
        return make()

    def prepare(self, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan) -> Any:
        """Returns data that is kept with a plan for its runs."""
        return None

    def run(self, program: Any, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Any],
            each: Callable[[int], None] | None) -> Mapping[int, Any]:  # fmt: skip
        """Returns the outputs of the graph, by vid."""
        raise NotImplementedError

    def close(self) -> None:
        """Releases the values of the place."""


class HostPlace(Place):
    """Runs references with NumPy and rounds each result once. Needs no device and no library."""

    name = "numpy"

    def put(self, array: Array, dtype: str) -> Array:
        return array

    def get(self, held: Array) -> Array:
        return held.copy()

    def run(self, program: Any, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Any],
            each: Callable[[int], None] | None) -> Mapping[int, Any]:  # fmt: skip
        env = {**graph.constants, **graph.lowered_constants, **sources}
        host.run(lowered, plan, env, each)
        return {vid: host.value_of(vid, plan, env) for vid in graph.outputs.values()}


def insist_one(kind: str, places: Sequence[Place]) -> Place:
    """Returns the place of an op's operands. Raises BackendError if there are two."""
    for one in places[1:]:
        if one is places[0]:
            continue
        ended = next((each for each in (places[0], one) if each.is_closed), None)
        if ended is not None:
            raise BackendError(f"{kind}: an operand was made on {ended.name} before that was disconnected or closed, another one behind it; make it again")
        raise BackendError(f"{kind}: the operands are on {places[0].name} and {one.name}; give both the same backend")
    return places[0]
