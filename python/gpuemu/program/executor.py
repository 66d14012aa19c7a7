"""Runs a graph repeatedly on a device of this process, op by op or captured."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gpuemu import runtime
from gpuemu.errors import DeviceError
import gpuemu.program.ops.primitives as primitives
from gpuemu.program.errors import BindError
from gpuemu.program.ir import IRGraph
from gpuemu.program.plan import BindingPlan
from gpuemu.program.specs import as_stored, text
from gpuemu.program.storage import Storage
from gpuemu.runtime.issuers import Issuer, told
from gpuemu.runtime.tensors import Tensor, address_range
from gpuemu.tensors import Array

WRITTEN = ("parameter", "output")  # Roles whose storage is written by ops.


class PackedCall(NamedTuple):
    """One call in the form of the C interface."""

    op: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    schema_id: int
    attrs: bytes


def insist_on_names(inputs: Any) -> None:
    """Raises TypeError unless the inputs are a dict of contents by name."""
    if not (inputs is None or isinstance(inputs, Mapping)):
        raise TypeError(f"inputs is of type {type(inputs).__name__}, expected a dict by name")


class Executor:
    """A graph with storage on a device. Parameters start as zeros; inputs and metas are set before a run. A run is one op_call
    for each lowered op."""

    def __init__(self, graph: IRGraph, device: runtime.Device | None = None, *, passes: Sequence[str] = (), plan: BindingPlan | None = None,
                 policy: Any = None) -> None:  # fmt: skip
        if not isinstance(graph, IRGraph):
            raise TypeError(f"graph is of type {type(graph).__name__}, expected an IRGraph")
        if device is not None and not isinstance(device, runtime.Device):
            raise TypeError(f"device is of type {type(device).__name__}, expected a runtime.Device or None")
        if plan is not None and not isinstance(plan, BindingPlan):
            raise TypeError(f"plan is of type {type(plan).__name__}, expected a BindingPlan or None")
        self._graph = graph
        self._lowered = graph.lower(passes=passes)
        self._plan = graph.bind(self._lowered) if plan is None else plan
        if set(self._plan.specs) != {one.vid for one in (*graph.values, *graph.lowered_values)}:
            raise BindError("the plan is of another graph, or of an earlier state of this one: bind it again")
        self._device = device if device is not None else runtime.current_device()
        self._policy, self._lock = policy, threading.RLock()
        self._where = [graph.nodes[one["node"]].where for one in self._lowered]
        self._issuer = Issuer(self._device, self._lowered, graph.nodes)
        constants = {**graph.constants, **graph.lowered_constants}
        self._storage = Storage(self._plan, self._device, constants)
        values = (*graph.values, *graph.lowered_values)  # Lowering with passes may add metas.
        self._vids = {one.name: one.vid for one in values if one.producer is None and one.name}
        self._vids.update(graph.outputs)
        self._missing = {one.vid for one in values if one.role in ("input", "meta")}
        self._is_captured = False
        for one in values:
            if one.producer is None and one.vid not in constants:
                self._storage.allocate(one.vid, zeros=one.role == "parameter")
        for vid in {self._plan.storage(vid) for vid in graph.outputs.values()}:
            self._storage.allocate(vid)
        self._calls: list[PackedCall] | None = None
        self._arguments: list[tuple[Any, ...]] = []
        with self._with_policy():
            pass  # Rejects a policy that the device does not accept.

    graph = property(lambda self: self._graph, doc="What runs.")
    lowered = property(lambda self: self._lowered, doc="The calls of built-in ops.")
    plan = property(lambda self: self._plan, doc="Where values lie.")
    device = property(lambda self: self._device, doc="Where it runs.")

    @property
    def env(self) -> Mapping[int, Tensor]:
        """The tensor of each value, by vid."""
        return MappingProxyType({vid: self._storage.tensor(vid) for vid in self._plan.roles if self._plan.storage(vid) in self._storage.roots})

    # --- values

    def _vid(self, name: str) -> int:
        if name not in self._vids:
            raise KeyError(f"there is no '{name}'; there are {', '.join(self._vids) or 'no names'}")
        return self._vids[name]

    def tensor(self, name: str) -> Tensor:
        """Returns the storage of a source or an output."""
        return self._storage.tensor(self._vid(name))

    def bind(self, name: str, tensor: Any) -> None:
        """Binds storage of the caller to an input, parameter, meta or output: a runtime.Tensor, or what runtime.as_tensor
        accepts."""
        with self._lock:
            vid = self._vid(name)
            role = self._plan.roles[vid]
            if self._is_captured:
                raise BindError(f"'{name}' cannot be bound: addresses are fixed by a capture; make another Executor")
            if role == "constant":
                raise BindError(f"'{name}' is a constant, which has storage of its own")
            given = tensor if isinstance(tensor, Tensor) else self._adopted(name, tensor)
            given._memory._live(f"the tensor for '{name}'")
            self._insist_fits(name, vid, role, given)
            root = self._plan.storage(vid)
            self._storage.put(root, given if root == vid else given.view(self._plan.specs[root].shape))
            self._missing.discard(vid)
            self._calls, self._arguments = None, []

    def _adopted(self, name: str, given: Any) -> Tensor:
        try:
            return runtime.as_tensor(given, device=self._device)
        except (TypeError, BufferError, runtime.InvalidArgumentError) as problem:
            raise type(problem)(f"'{name}': {problem}") from None

    def _insist_fits(self, name: str, vid: int, role: str, given: Tensor) -> None:
        spec = self._plan.specs[vid]
        if given.device is not self._device:
            raise BindError(f"'{name}': the tensor is of {given.device.name}, expected one of the executor's device, {self._device._told_apart_from(given.device)}")
        if given.shape != spec.shape or given.dtype != spec.dtype:
            raise BindError(f"'{name}': the tensor is {given.dtype}{text(given.shape)}, expected {spec}")
        if not given.is_contiguous:
            raise BindError(f"'{name}': the tensor has the strides {given.strides}, expected a contiguous one")
        if given.is_readonly and role in WRITTEN:
            raise BindError(f"'{name}': the tensor is read-only, and a {role} is written")
        first, end = address_range(given)
        for other, at in self._vids.items():
            root = self._plan.storage(at)
            if other == name or root == self._plan.storage(vid) or root not in self._storage.roots:
                continue
            begin, behind = address_range(self._storage.roots[root])
            if first < behind and begin < end:
                raise BindError(f"'{name}' and '{other}' overlap: both have bytes from {max(first, begin):#x}")

    def set(self, name: str, array: Any, *, stream: Any = None) -> None:
        """Sets new content, ordered on the stream; the caller may change the array immediately."""
        with self._lock:
            vid = self._vid(name)
            self._storage.tensor(vid).copy_from(self._content(name, vid, array), stream=stream)
            self._missing.discard(vid)

    def _content(self, name: str, vid: int, array: Any) -> Any:
        """Returns the content that set() copies to a value: a Tensor, or an array of NumPy."""
        spec = self._plan.specs[vid]
        if self._plan.roles[vid] == "constant":
            raise BindError(f"'{name}' is a constant: its content is part of the graph")
        content: Any
        if isinstance(array, Tensor):
            content, dtype = array, array.dtype
        else:
            content, dtype = as_stored(array, spec.dtype if isinstance(array, (list, tuple, int, float)) else None, f"content of '{name}'")
        if content.shape != spec.shape or dtype != spec.dtype:
            raise BindError(f"'{name}': the content is {dtype}{text(content.shape)}, expected {spec}")
        return content

    def get(self, name: str) -> Array:
        """Waits and returns a copy of the content."""
        made: Array = self.tensor(name).numpy()
        return made

    # --- running

    def calls(self) -> list[PackedCall]:
        """The calls in the form of the C interface, in order."""
        if self._calls is None:
            made = []
            for one in self._lowered:
                inputs, outputs = (tuple(self._storage.tensor(vid) for vid in one[side]) for side in ("inputs", "outputs"))
                made.append(PackedCall(one["op"], inputs, outputs, *primitives.packed(one["op"], one["attrs"])))
            self._calls = made
        return list(self._calls)

    def _prepared(self) -> list[tuple[Any, ...]]:
        """The calls in the form that op_call() takes."""
        self._arguments = [(op, inputs, outputs, schema or None, attrs if schema else None) for op, inputs, outputs, schema, attrs in self.calls()]
        return self._arguments

    def text(self) -> str:
        """Returns one line for each call, with the kernel that it selects, which a temporary capture determines."""
        with self._lock, self._device.dispatch_log(records_max=len(self._lowered) + 1) as log:
            self._capture(None).close()
        lines = []
        for index, (one, record) in enumerate(zip(self._lowered, log.records)):
            left, right = (", ".join(f"%{vid}" for vid in one[side]) for side in ("inputs", "outputs"))
            lines.append(f"{index} {one['op']} ({left}) -> ({right}) {record.variant}")
        return "\n".join(lines) + "\n"

    def run(self, inputs: Mapping[str, Any] | None = None, *, stream: Any = None) -> None:
        """Runs once; inputs: content that is set before. Returns when all work is issued."""
        with self._lock:
            self._ready(inputs, stream)
            self._issue(stream)

    def _ready(self, inputs: Mapping[str, Any] | None, stream: Any) -> None:
        insist_on_names(inputs)
        for name, array in (inputs or {}).items():
            self.set(name, array, stream=stream)
        if self._missing:
            names = ", ".join(sorted(self._plan.names[vid] for vid in self._missing))
            raise BindError(f"{names}: never set nor bound; give inputs, set() or bind()")

    def _issue(self, stream: Any) -> None:
        with self._with_policy(), self._issuer:
            index, device, op_call = 0, self._device, runtime.op_call
            try:
                for op, inputs, outputs, schema, attrs in self._arguments or self._prepared():
                    op_call(op, inputs, outputs, attrs, schema_id=schema, stream=stream, device=device)
                    index += 1
            except DeviceError as problem:
                raise told(problem, self._lowered[index], index, self._where[index])

    @contextlib.contextmanager
    def _with_policy(self) -> Iterator[None]:
        if self._policy is None:
            yield
            return
        before = self._device.policy
        self._device.set_policy(self._policy)
        try:
            yield
        finally:
            self._device.set_policy(before)

    def prepare(self) -> None:
        """Loads all kernels with a temporary capture; runs nothing."""
        with self._lock:
            self._capture(None).close()

    def _capture(self, stream: Any) -> runtime.Graph:
        captured = runtime.Graph(self._device, stream=stream)
        with captured:
            self._issue(None if stream is None else stream)
        return captured

    def capture(self, *, stream: Any = None) -> Replay:
        """Captures the calls as one piece of work. Nothing runs and no value changes."""
        with self._lock:
            made = Replay(self, self._capture(stream))
            self._is_captured = True
            return made


class Replay:
    """A captured run. It reads inputs and metas when it is launched."""

    def __init__(self, executor: Executor, graph: runtime.Graph) -> None:
        self._executor, self._graph = executor, graph
        self.launches = 0

    graph = property(lambda self: self._executor.graph, doc="The program.")
    nodes = property(lambda self: self._graph.nodes, doc="Pieces of work.")

    def launch(self, inputs: Mapping[str, Any] | None = None, *, stream: Any = None) -> None:
        """Runs once; inputs: content that is set before, ordered on the stream."""
        with self._executor._lock:
            self._executor._ready(inputs, stream)
            self._graph.launch(stream)
            self.launches += 1

    def close(self) -> None:
        """Frees the captured work. May be called twice."""
        self._graph.close()

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
