"""The pending ops of lazy tensors, and their execution as one graph."""

from __future__ import annotations

import copy
import itertools
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from weakref import ref

from gpuemu.errors import DeviceError, DeviceLostError, KernelError
import gpuemu.program.ops.rules as rules
from gpuemu.program.calls import TOKENS, WRITTEN_MAX, Call, Collected, Epoch, Lazy, Op, call_key, call_of, collected, key_of, leaves_of, needed, sorted_targets
from gpuemu.program.ir import IRGraph, Where, place_of_caller, text_of
from gpuemu.program.places import Place, insist_one
from gpuemu.program.plan import BindingPlan
from gpuemu.tensors import Array

PLANS_MAX = 64
PENDING_MAX = 4096  # Most pending calls, so that a loop that reads nothing does not grow without limit.

LOCK = threading.RLock()


@dataclass
class Run:
    """The last execution."""

    graph: IRGraph
    lowered: list[dict[str, Any]]
    plan: BindingPlan
    milliseconds: float


class Bound(NamedTuple):
    """A graph bound for a place. outputs: vids in the order of its targets; wheres: the source positions of its nodes."""

    place: Place
    graph: IRGraph
    lowered: list[dict[str, Any]]
    plan: BindingPlan
    program: Any
    outputs: list[int]
    wheres: list[Where]


class _Tracing(threading.local):
    """Per thread: the place of new tensors while a function is traced."""

    place: Place | None = None


class _At:
    """The context manager of Tape.at()."""

    def __init__(self, tape: Tape, where: Where | None) -> None:
        self._tape, self._where = tape, where

    def __enter__(self) -> None:
        self._before = self._tape.where
        self._tape.where = self._where

    def __exit__(self, *_: object) -> None:
        self._tape.where = self._before


class Tape:
    """The pending calls of the process, and the plans of earlier executions."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.pending: list[ref[Call]] = []  # In the order of writing.
        self.epoch: Epoch  # The epoch of the pending calls.
        # Pending values whose execution raised an error; each is then computed alone.
        self.failed: weakref.WeakSet[Lazy] = weakref.WeakSet()
        self.plans: OrderedDict[Any, Bound] = OrderedDict()
        self.written: dict[Any, Op] = {}  # Calls of built-in ops that were written before.
        self.tokens: dict[Any, int] = {}
        self.last: Run | None = None
        self.verbosity = 0
        self.tracing = _Tracing()
        self.where: Where | None = None  # The source position of ops, if it is not that of the caller. Guarded by LOCK.

    def clear(self) -> None:
        """Removes plans and the last run; pending calls are removed with their tensors."""
        with LOCK:
            self.plans.clear()
            self.last = None

    def write(self, kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any], home: Callable[[], Place] | None = None, op: Op | None = None) -> tuple[
            Call, list[Lazy]]:  # fmt: skip
        """Adds a pending call; returns it and its outputs. home: the place of an op without inputs; op: that of an
        equal call in `written`. REQUIRES: LOCK is held."""
        if op is None:
            key = call_key(kind, inputs, attrs)
            op = self.written.get(key) or self._inferred(key, kind, inputs, attrs)
        place = inputs[0].place if inputs else home() if home is not None else insist_one(kind, [])
        pending = self.pending
        if not pending:
            self.epoch = Epoch(place)
        call, made = call_of(next(self.numbers), op, inputs, place, self.where or place_of_caller(5), pending, self.epoch)
        if len(pending) > PENDING_MAX:
            self.execute()
        return call, made

    def _inferred(self, key: Any, kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any]) -> Op:
        rule = rules.rule(kind)
        specs = rule.infer(kind, [one.spec for one in inputs], attrs)
        made = Op(kind, attrs, self._token(kind, len(inputs), key[1]), rule, [one.spec for one in inputs], specs)
        if kind in rules.RULES:
            if len(self.written) >= WRITTEN_MAX:
                self.written.clear()
            self.written[key] = made
        return made

    def _token(self, kind: str, inputs: int, attrs: str) -> int:
        """Returns a number for the op with its attributes. An op that is registered again gets a new number."""
        if len(self.tokens) >= WRITTEN_MAX:
            with LOCK:  # Numbers are never reused.
                self.tokens, self.plans, self.written = {}, OrderedDict(), {}
        return self.tokens.setdefault((rules.identity(kind), inputs, attrs), next(TOKENS))

    def at(self, where: Where | None) -> _At:
        """Returns a context in which ops get this source position; None: the caller's. REQUIRES: LOCK is held."""
        return _At(self, where)

    def execute(self, wanted: Lazy | None = None) -> None:
        """Computes all pending ops that a live tensor needs. Does nothing if `wanted` is computed: reading it must not raise the error
        of another op."""
        with LOCK:
            if not self.pending or (wanted is not None and wanted.call is None):
                return
            whole = None if self.failed else collected(self.pending, self.epoch)
            self.epoch.is_whole = False
            if whole is None:
                self._execute_parts(wanted)
                self._alive()  # If nothing is left, the next call begins an epoch.
            elif wanted.place is whole.place if wanted is not None else not whole.place.is_closed:
                self._compute(whole.place, whole.targets, wanted, whole)
                if not self.failed and len(self.pending) == len(whole.calls):
                    self.pending.clear()

    def _execute_parts(self, wanted: Lazy | None) -> None:
        by_place: dict[Place, list[Lazy]] = {}
        for one in self._alive():
            if wanted is None or one.place is wanted.place:
                by_place.setdefault(one.place, []).append(one)
        for place, group in by_place.items():
            if not place.is_closed or (wanted is not None and wanted.call is not None):
                self._compute(place, group, wanted)

    def _alive(self) -> list[Lazy]:
        """Returns the pending values that are still referenced, in the order of writing."""
        found: list[Lazy] = []
        pending = []
        for each in self.pending:
            call = each()
            if call is None:
                continue
            before = len(found)
            for output in call.outputs:
                one = output()
                if one is not None and one.call is not None:
                    found.append(one)
            if len(found) > before:  # Applies to computed outputs too: then only values that need it were wanted.
                pending.append(each)
        self.pending = pending
        return found

    def _compute(self, place: Place, targets: list[Lazy], wanted: Lazy | None, whole: Collected | None = None) -> None:
        """Computes all targets as one graph; whole: what collected() returned for them. If an op raises an error, only the values
        that need it fail: the others are computed alone, and of those that failed only `wanted` is tried again."""
        together, alone = targets, []
        if self.failed:
            together = [one for one in targets if one not in self.failed]
            alone = [one for one in targets if one in self.failed and wanted in (None, one)]
        if wanted in alone:
            together = []
        problem = None
        try:
            if together:
                self._execute(place, together, whole)
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

    def _execute(self, place: Place, targets: list[Lazy], whole: Collected | None = None) -> None:
        began = time.perf_counter()
        if whole is None:
            calls = needed(targets)
            key, leaves = key_of(calls, targets)
        else:
            _, calls, _, key, leaves = whole
        bound = self._bound(place, calls, targets, key, leaves)
        lowered = bound.lowered
        made = place.run(bound.program, bound.graph, lowered, bound.plan, {vid: one.held for vid, one in enumerate(leaves)}, self._line_per_op(lowered))
        for one, vid in zip(targets, bound.outputs):
            one.held = made[vid]
            one.call = None
        for call in calls:
            call.is_done = True
        milliseconds = (time.perf_counter() - began) * 1e3
        self.last = Run(bound.graph, lowered, bound.plan, milliseconds)
        if self.verbosity >= 2:
            print(f"gpuemu.program: {len(lowered)} ops on {place.name}, {milliseconds:.2f} ms", file=sys.stderr)

    def _bound(self, place: Place, calls: list[Call], targets: list[Lazy], key: tuple[int, ...], leaves: list[Lazy]) -> Bound:
        """Returns the calls bound for the place: those of an equal tape with the lines of these, or new ones."""
        wheres = [one.where for one in calls]
        whole = (id(place), key)
        bound = self.plans.get(whole)
        if bound is None:
            bound = self.plans[whole] = _bound(place, calls, leaves, targets, wheres)
            if len(self.plans) > PLANS_MAX:
                self.plans.popitem(last=False)
        elif bound.wheres != wheres:
            bound.wheres[:] = wheres
            for node, where in zip(bound.graph.nodes, wheres):
                node.where = text_of(where)
        self.plans.move_to_end(whole)
        return bound

    def _line_per_op(self, lowered: list[dict[str, Any]]) -> Callable[[int], None] | None:
        if self.verbosity < 3:
            return None
        return lambda index: print(f"gpuemu.program: {index} {lowered[index]['op']}", file=sys.stderr)


TAPE = Tape()


def _bound(place: Place, calls: Sequence[Call], leaves: Sequence[Lazy], targets: Sequence[Lazy], wheres: list[Where]) -> Bound:
    graph = graph_of(calls, leaves, targets)
    lowered = graph.lower()
    plan = graph.bind(lowered)
    return Bound(place, graph, lowered, plan, place.prepare(graph, lowered, plan), list(graph.outputs.values()), wheres)


def write_calls(graph: IRGraph, calls: Iterable[Call], value_of: Callable[[Lazy, str], Any]) -> dict[tuple[int, int], Any]:
    """Writes calls into a graph; returns their outputs by call number and index. value_of(leaf, kind): the value of a leaf for an
    op."""
    values: dict[tuple[int, int], Any] = {}
    for call in calls:
        inputs = []
        for one in call.sources():
            inputs.append(value_of(one, call.op.kind) if isinstance(one, Lazy) else values[one[0].number, one[1]])
        for index, value in enumerate(graph.apply(call.op.kind, inputs, copy.deepcopy(call.op.attrs))):
            values[call.number, index] = value
        graph.nodes[-1].where = text_of(call.where)
    return values


def graph_of(calls: Sequence[Call], leaves: Sequence[Lazy], targets: Iterable[Lazy]) -> IRGraph:
    """Returns the calls as a graph: computed values are its inputs x0, x1, ..., the targets its outputs y0, y1, ..."""
    graph = IRGraph("tape")
    at = {id(one): graph.input(f"x{i}", one.spec.shape, one.spec.dtype) for i, one in enumerate(leaves)}
    values = write_calls(graph, calls, lambda leaf, _: at[id(leaf)])
    for i, one in enumerate(sorted_targets(targets)):
        graph.output(f"y{i}", at[id(one)] if one.call is None else values[one.call.number, one.index])
    return graph


def held_array(lazy: Lazy) -> Array:
    """Returns a copy of the content, computing it if needed."""
    TAPE.execute(lazy)
    return lazy.place.get(lazy.held)


__all__ = ["LOCK", "TAPE", "Call", "Lazy", "Run", "Tape", "graph_of", "held_array", "leaves_of", "needed", "write_calls"]
