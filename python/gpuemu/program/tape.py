"""What lazy tensors are computed from: pending ops, and their execution as one graph."""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gpuemu.errors import DeviceError, DeviceLostError, KernelError
import gpuemu.program.ops.rules as rules
from gpuemu.program.ir import IRGraph, written_at
from gpuemu.program.places import Place, insist_one
from gpuemu.program.plan import BindingPlan
from gpuemu.program.specs import Spec
from gpuemu.tensors import Array

PLANS_MAX = 64
PENDING_MAX = 4096  # Calls that wait; a loop that reads nothing would grow without an end.

LOCK = threading.RLock()


class Lazy:
    """One value: computed (`held`), or the output of a pending call."""

    __slots__ = ("__weakref__", "call", "held", "index", "place", "spec")

    def __init__(self, spec: Spec, place: Place, call: Call | None, index: int, held: Any = None) -> None:
        self.spec, self.place, self.call, self.index, self.held = spec, place, call, index, held


class Call:
    """A pending op. outputs: weak, as nobody may want them any more."""

    __slots__ = ("__weakref__", "attrs", "inputs", "kind", "number", "outputs", "where")

    def __init__(self, number: int, kind: str, inputs: list[Lazy], attrs: dict[str, Any], where: str) -> None:
        self.number, self.kind, self.inputs, self.attrs, self.where = number, kind, inputs, attrs, where
        self.outputs: list[weakref.ref[Lazy]] = []


@dataclass
class Run:
    """What the last execution was."""

    graph: IRGraph
    lowered: list[dict[str, Any]]
    plan: BindingPlan
    milliseconds: float


class Tape:
    """The pending calls of the process, the tensors that are alive, and the plans of earlier executions."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.pending: weakref.WeakSet[Lazy] = weakref.WeakSet()
        self.failed: weakref.WeakSet[Lazy] = weakref.WeakSet()  # Pending, and in an execution that raised: computed alone from then on.
        self.roots: Callable[[], Iterable[Lazy]] = lambda: ()  # What live tensors need.
        self.plans: OrderedDict[Any, tuple[Place, IRGraph, list[dict[str, Any]], BindingPlan, Any]] = OrderedDict()
        self.last: Run | None = None
        self.verbosity = 0
        self.tracing = threading.local()

    def clear(self) -> None:
        """Forgets plans and what ran; pending calls go with their tensors."""
        with LOCK:
            self.plans.clear()
            self.last = None

    def write(self, kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any], where: str = "", home: Callable[[], Place] | None = None) -> list[Lazy]:
        """A pending call; its outputs. home: the place of an op without inputs."""
        specs = rules.rule(kind).infer(kind, [one.spec for one in inputs], attrs)
        place = home() if home is not None and not inputs else insist_one(kind, [one.place for one in inputs])
        with LOCK:
            call = Call(next(self.numbers), kind, list(inputs), attrs, where or written_at())
            made = [Lazy(spec, place, call, index) for index, spec in enumerate(specs)]
            call.outputs = [weakref.ref(one) for one in made]
            self.pending.update(made)
            if len(self.pending) > PENDING_MAX:
                self.execute()
        return made

    def execute(self, wanted: Lazy | None = None) -> None:
        """Computes everything that is pending and that a live tensor needs."""
        with LOCK:
            targets = {one for one in self.roots() if one.call is not None and not one.place.is_closed}
            if wanted is not None and wanted.call is not None:
                targets.add(wanted)
            by_place: dict[Place, list[Lazy]] = {}
            for one in targets:
                by_place.setdefault(one.place, []).append(one)
            if wanted is not None:
                by_place = {place: group for place, group in by_place.items() if place is wanted.place}
            for place, group in by_place.items():
                self._compute(place, group, wanted)

    def _compute(self, place: Place, targets: list[Lazy], wanted: Lazy | None) -> None:
        """All targets as one graph. An op that raises an error costs those that need it: the others are computed alone, and of
        those that failed nobody is tried again but the wanted one."""
        together = [one for one in targets if one not in self.failed]
        alone = [one for one in targets if one in self.failed and wanted in (None, one)]
        if wanted in alone:
            together = []
        problem = None
        try:
            if together:
                self._execute(place, together)
        except DeviceLostError:
            raise
        except (DeviceError, KernelError) as raised:
            self.failed.update(together)
            if len(together) == 1:
                problem = raised
            else:
                alone += together if wanted is None else [wanted]
        for one in sorted_targets(alone):
            try:
                self._execute(place, [one])
                self.failed.discard(one)
            except (DeviceError, KernelError) as raised:
                problem = problem or raised
        if problem is not None:
            raise problem

    def _execute(self, place: Place, targets: list[Lazy]) -> None:
        began = time.perf_counter()
        calls = needed(targets)
        key, leaves = _key(calls, targets)
        kept = self.plans.pop((id(place), key), None)
        if kept is None:
            graph = graph_of(calls, leaves, targets)
            lowered = graph.lower()
            plan = graph.bind(lowered)
            kept = (place, graph, lowered, plan, place.prepare(graph, lowered, plan))
        _, graph, lowered, plan, program = kept
        self.plans[(id(place), key)] = kept
        while len(self.plans) > PLANS_MAX:
            self.plans.popitem(last=False)
        for node, call in zip(graph.nodes, calls):
            node.where = call.where
        with self._telling(graph, lowered, place, began):
            made = place.run(program, graph, lowered, plan, {vid: one.held for vid, one in enumerate(leaves)}, self._line_per_op(lowered))
        for one, name in zip(sorted_targets(targets), graph.outputs):
            one.held, one.call = made[graph.outputs[name]], None
            self.pending.discard(one)
        self.last = Run(graph, lowered, plan, (time.perf_counter() - began) * 1e3)

    def _line_per_op(self, lowered: list[dict[str, Any]]) -> Callable[[int], None] | None:
        if self.verbosity < 3:
            return None
        return lambda index: print(f"gpuemu.program: {index} {lowered[index]['op']}", file=sys.stderr)

    @contextlib.contextmanager
    def _telling(self, graph: IRGraph, lowered: list[dict[str, Any]], place: Place, began: float) -> Iterator[None]:
        yield
        if self.verbosity >= 2:
            print(f"gpuemu.program: {len(lowered)} ops on {place.name}, {(time.perf_counter() - began) * 1e3:.2f} ms", file=sys.stderr)


TAPE = Tape()


def needed(targets: Iterable[Lazy]) -> list[Call]:
    """The pending calls behind values, in the order of writing."""
    found: dict[int, Call] = {}
    rest = [one.call for one in targets if one.call is not None]
    while rest:
        call = rest.pop()
        if call.number not in found:
            found[call.number] = call
            rest += [one.call for one in call.inputs if one.call is not None]
    return [found[number] for number in sorted(found)]


def sorted_targets(targets: Iterable[Lazy]) -> list[Lazy]:
    """In the order of writing."""
    return sorted(targets, key=lambda one: (one.call.number if one.call is not None else -1, one.index))


def _key(calls: Sequence[Call], targets: Sequence[Lazy]) -> tuple[Any, list[Lazy]]:
    """What equal tapes have in common, and the computed values that they begin with, in order."""
    leaves: list[Lazy] = []
    leaf_at: dict[int, int] = {}
    call_at = {call.number: at for at, call in enumerate(calls)}
    parts = []
    for call in calls:
        inputs = []
        for one in call.inputs:
            if one.call is not None:
                inputs.append((call_at[one.call.number], one.index))
                continue
            if id(one) not in leaf_at:
                leaf_at[id(one)] = len(leaves)
                leaves.append(one)
            inputs.append((-1, leaf_at[id(one)]))
        parts.append((rules.identity(call.kind), tuple(inputs), repr(sorted(call.attrs.items()))))
    ends = tuple((call_at[one.call.number], one.index) for one in sorted_targets(targets) if one.call is not None)
    return (tuple(parts), tuple(one.spec for one in leaves), ends), leaves


def graph_of(calls: Sequence[Call], leaves: Sequence[Lazy], targets: Iterable[Lazy]) -> IRGraph:
    """The calls as a graph: computed values are its inputs x0, x1, ..., the targets its outputs y0, y1, ..."""
    graph = IRGraph("tape")
    values: dict[tuple[int, int], Any] = {}
    at = {id(one): graph.input(f"x{i}", one.spec.shape, one.spec.dtype) for i, one in enumerate(leaves)}
    for call in calls:
        inputs = [at[id(one)] if one.call is None else values[one.call.number, one.index] for one in call.inputs]
        for index, value in enumerate(graph.apply(call.kind, inputs, call.attrs)):
            values[call.number, index] = value
        graph.nodes[-1].where = call.where
    for i, one in enumerate(sorted_targets(targets)):
        graph.output(f"y{i}", at[id(one)] if one.call is None else values[one.call.number, one.index])
    return graph


def held_array(lazy: Lazy) -> Array:
    """The content, computed if need be: a copy."""
    TAPE.execute(lazy)
    return lazy.place.get(lazy.held)


__all__ = ["LOCK", "TAPE", "Call", "Lazy", "Run", "Tape", "graph_of", "held_array", "needed"]
