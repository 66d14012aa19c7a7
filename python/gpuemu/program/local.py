"""Runs lazy tensors on a device of this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gpuemu import runtime
from gpuemu.errors import DeviceError
import gpuemu.program.ops.primitives as primitives
import gpuemu.runtime.registrations as registrations
from gpuemu.program.places import Place
from gpuemu.program.plan import BindingPlan
from gpuemu.program.storage import Storage
from gpuemu.program.values import GraphData
from gpuemu.runtime.issuers import Issuer, told
from gpuemu.runtime.memory import Block, device_memory
from gpuemu.runtime.prepared import PreparedCalls
from gpuemu.runtime.recycling import Results
from gpuemu.runtime.tensors import Layout
from gpuemu.tensors import Array

if TYPE_CHECKING:
    from gpuemu.program.tape import Lazy


def tensor_of(held: runtime.Tensor | Block) -> runtime.Tensor:
    """Returns a value of this place as a tensor. Most results are read only by the next run; until they are needed as tensors,
    they are memory with a layout."""
    if not isinstance(held, Block):
        return held
    made: runtime.Tensor = held.layout.over(device_memory(held, held.layout.nbytes, ""))
    return made


class LocalProgram:
    """A bound program. prepared: its calls, after one complete run. Ops that this process registered are called anew each
    time."""

    def __init__(self, device: runtime.Device, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan) -> None:
        self.storage = Storage(plan, device, {**graph.constants, **graph.lowered_constants})
        self.packed = [primitives.packed(one["op"], one["attrs"]) for one in lowered]
        self.outputs = list(dict.fromkeys(plan.storage(vid) for vid in graph.outputs.values()))
        self.views = [vid for vid in graph.outputs.values() if vid not in self.outputs]
        self.prepared: PreparedCalls | None = None
        self.results: Results | None = None
        self.issuer = Issuer(device, lowered, graph.nodes)
        self.fixed = list({id(one._memory): one._memory._block for one in self.storage.roots.values()}.values())

    def prepare(self, lowered: list[dict[str, Any]], device: runtime.Device, plan: BindingPlan) -> None:
        """Prepares the calls. REQUIRES: all values have storage, as at the end of a run."""
        if any(registrations.op_named(one["op"]) is not None for one in lowered):
            return
        calls = PreparedCalls(device)
        for one, (schema, attrs) in zip(lowered, self.packed):
            inputs, outputs = ([(plan.storage(vid), self.storage.tensor(vid)) for vid in one[side]] for side in ("inputs", "outputs"))
            calls.add(one["op"], inputs, outputs, schema, attrs)
        self.prepared = calls
        self.results = Results(device, [Layout(self.storage.tensor(vid)) for vid in self.outputs])


class LocalPlace(Place):
    """A runtime.Device, opened at the first use, or a device of the caller."""

    def __init__(self, backend: str, device: Any, arch: str | None) -> None:
        self.device = device if isinstance(device, runtime.Device) else runtime.Device(backend, device, arch=arch)
        self.name = self.device.name
        self._numbers: tuple[dict[Any, Lazy], dict[Any, Lazy]] = {}, {}  # Current numbers, and those used before the last run.

    @property
    def is_closed(self) -> bool:  # type: ignore[override]
        """True if the device is closed."""
        return self.device.is_closed

    def put(self, array: Array, dtype: str) -> Any:
        return self.device.tensor(array, dtype=dtype)

    def get(self, held: Any) -> Array:
        made: Array = held.layout.numpy(held) if type(held) is Block else held.numpy()
        return made

    def number(self, value: Any, dtype: str, make: Callable[[], Any]) -> Any:
        """Keeps a number on the device until a run did not use it: the steps of a loop use the same numbers."""
        now, before = self._numbers
        key = (dtype, value if value and value == value else repr(value))  # Distinguishes the two zeros, and handles NaN.
        found = now.get(key)
        if found is None:
            found = now[key] = before.get(key) or make()
        return found

    def prepare(self, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan) -> LocalProgram:
        return LocalProgram(self.device, graph, lowered, plan)

    def run(self, program: LocalProgram, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Any],
            each: Callable[[int], None] | None) -> Mapping[int, Any]:  # fmt: skip
        self._numbers = {}, self._numbers[0]
        stream = self.device.current_stream()
        if program.prepared is not None and each is None and stream._graph is None:
            return self._repeat(program, graph, lowered, plan, sources, stream)
        storage = program.storage
        for vid, tensor in sources.items():
            storage.put(vid, tensor_of(tensor))
        for vid in program.outputs:
            storage.allocate(vid)
        try:
            with program.issuer:
                for index, one in enumerate(lowered):
                    if each is not None:
                        each(index)
                    self._call(one, index, storage, program.packed[index], graph)
            if stream._graph is None:
                program.prepare(lowered, self.device, plan)
            return {vid: storage.tensor(vid) for vid in graph.outputs.values()}
        finally:
            storage.drop([*sources, *program.outputs])

    def _repeat(self, program: LocalProgram, graph: GraphData, lowered: list[dict[str, Any]], plan: BindingPlan, sources: Mapping[int, Any],
                stream: Any) -> Mapping[int, Any]:  # fmt: skip
        """Runs with sources and outputs other than those of the last run; everything else is the same."""
        assert program.prepared is not None and program.results is not None
        addresses, blocks = {}, [*program.fixed]
        for vid, held in sources.items():
            if type(held) is Block:
                addresses[vid] = held.address
                blocks.append(held)
            else:
                blocks.append(held._memory._live("the tensor"))
                addresses[vid] = held._address
        fresh = program.results.take(stream)
        for vid, block in zip(program.outputs, fresh):
            addresses[vid] = block.address
        with program.issuer:
            failed, problem = program.prepared.issue(addresses, blocks, stream)
        if problem is not None:
            if failed < 0 or not isinstance(problem, DeviceError):
                raise problem
            raise told(problem, lowered[failed], failed, graph.nodes[lowered[failed]["node"]].where)
        made: dict[int, Any] = dict(zip(program.outputs, fresh))
        for vid in program.views:
            made[vid] = tensor_of(made[plan.storage(vid)]).view(plan.specs[vid].shape)
        return made

    def _call(self, one: dict[str, Any], index: int, storage: Storage, packed: tuple[int, bytes], graph: GraphData) -> None:
        schema, attrs = packed
        inputs, outputs = ([storage.tensor(vid) for vid in one[side]] for side in ("inputs", "outputs"))
        try:
            runtime.op_call(one["op"], inputs, outputs, attrs if schema else None, schema_id=schema or None, device=self.device)
        except DeviceError as problem:
            raise told(problem, one, index, graph.nodes[one["node"]].where)
