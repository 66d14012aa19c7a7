"""Lazy tensors on a device of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gpuemu import runtime
from gpuemu.errors import DeviceError
import gpuemu.program.ops.primitives as primitives
from gpuemu.program.executor import told
from gpuemu.program.places import Place
from gpuemu.program.plan import BindingPlan
from gpuemu.program.storage import Storage
from gpuemu.program.values import GraphData
from gpuemu.tensors import Array


class LocalPlace(Place):
    """A runtime.Device, opened at the first use, or the caller's."""

    def __init__(self, backend: str, device: Any, arch: str | None) -> None:
        self.device = device if isinstance(device, runtime.Device) else runtime.Device(backend, device, arch=arch)
        self.name = self.device.name

    @property
    def is_closed(self) -> bool:  # type: ignore[override]
        """Whether the device is."""
        return self.device.is_closed

    def put(self, array: Array, dtype: str) -> Any:
        return self.device.tensor(array, dtype=dtype)

    def get(self, held: Any) -> Array:
        made: Array = held.numpy()
        return made

    def prepare(self, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan) -> Any:
        packed = [primitives.packed(one["op"], one["attrs"]) for one in lowered]
        return Storage(plan, self.device, {**graph.constants, **graph.lowered_constants}), packed

    def run(self, program: Any, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Any],
            each: Callable[[int], None] | None) -> Mapping[int, Any]:  # fmt: skip
        storage, packed = program
        outputs = {plan.storage(vid) for vid in graph.outputs.values()}
        for vid, tensor in sources.items():
            storage.put(vid, tensor)
        for vid in outputs:
            storage.allocate(vid)
        try:
            for index, one in enumerate(lowered):
                if each is not None:
                    each(index)
                self._call(one, index, storage, packed[index], graph)
            return {vid: storage.tensor(vid) for vid in graph.outputs.values()}
        finally:
            storage.drop([*sources, *outputs])

    def _call(self, one: dict[str, Any], index: int, storage: Storage, packed: tuple[int, bytes], graph: GraphData) -> None:
        schema, attrs = packed
        inputs, outputs = ([storage.tensor(vid) for vid in one[side]] for side in ("inputs", "outputs"))
        try:
            runtime.op_call(one["op"], inputs, outputs, attrs if schema else None, schema_id=schema or None, device=self.device)
        except DeviceError as problem:
            raise told(problem, one, index, graph.nodes[one["node"]].where)
