"""What lazy tensors are computed from: pending ops, and their execution as one graph."""

from __future__ import annotations

import itertools
import operator
import sys
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Union
from weakref import ref

from gpuemu.errors import DeviceError, DeviceLostError, KernelError
import gpuemu.program.ops.rules as rules
from gpuemu.program.ir import IRGraph, place_of_caller, text_of
from gpuemu.program.places import Place, insist_one
from gpuemu.program.plan import BindingPlan
from gpuemu.program.specs import Spec
from gpuemu.tensors import Array

PLANS_MAX = 64
PENDING_MAX = 4096  # Calls that wait; a loop that reads nothing would grow without an end.
WRITTEN_MAX = 4096  # Calls with other operands or attributes that are known; a loop whose shapes change would grow without an end.

_TOKENS = itertools.count(1)

LOCK = threading.RLock()

_FORMS: dict[Spec, int] = {}


def form_of(spec: Spec) -> int:
    """A number of the shape and dtype, which keys have in their place. It is never that of another one; a spec may get a new one."""
    if len(_FORMS) >= WRITTEN_MAX:
        _FORMS.clear()
    return _FORMS.setdefault(spec, next(_TOKENS))


class Lazy:
    """One value: computed (`held`), or the output of a pending call. It is alive as long as a tensor is, or a gradient that needs it."""

    __slots__ = ("__weakref__", "call", "form", "held", "index", "place", "spec")

    def __init__(self, spec: Spec, place: Place, call: Call | None, index: int, held: Any = None, form: int = 0) -> None:
        self.spec = spec
        self.place = place
        self.call = call
        self.index = index
        self.held = held
        self.form = form or form_of(spec)

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.spec.shape

    @property
    def dtype(self) -> str:
        """The dtype's name."""
        return self.spec.dtype


Source = Union[Lazy, "tuple[Call, int]"]  # A computed value, or the output of a pending call by its index.
Where = tuple[str, int]  # File and line.
Written = tuple[list[tuple[int, Spec, int]], int]  # Index, spec and form of each output; the token.


class Call:
    """A pending op. Outputs are weak, as nobody may want them any more; a call that needs one needs the call alone."""

    __slots__ = ("__weakref__", "at", "attrs", "inputs", "is_done", "kind", "number", "outputs", "seen", "token", "where")

    at: int  # Its place in the key that _key() makes.

    def __init__(self, number: int, kind: str, inputs: list[Source], attrs: dict[str, Any], where: Where, token: int) -> None:
        self.number, self.kind, self.inputs, self.attrs, self.where, self.token = number, kind, inputs, attrs, where, token
        self.is_done = False
        self.seen: object = None  # By needed().
        self.outputs: list[ref[Lazy]] = []


@dataclass
class Run:
    """What the last execution was."""

    graph: IRGraph
    lowered: list[dict[str, Any]]
    plan: BindingPlan
    milliseconds: float


class Bound(NamedTuple):
    """A graph that was bound for a place. outputs: vids in the order of its targets; wheres: those that its nodes have."""

    place: Place
    graph: IRGraph
    lowered: list[dict[str, Any]]
    plan: BindingPlan
    program: Any
    outputs: list[int]
    wheres: list[Where]


class _Tracing(threading.local):
    """Of a thread: where new tensors are while a function is traced, and where ops are written, if not where their callers are."""

    place: Place | None = None
    where: Where | None = None


class _At:
    """Tape.at()."""

    def __init__(self, local: _Tracing, where: Where | None) -> None:
        self._local, self._where = local, where

    def __enter__(self) -> None:
        self._before = self._local.where
        self._local.where = self._where

    def __exit__(self, *_: object) -> None:
        self._local.where = self._before


class Tape:
    """The pending calls of the process, and the plans of earlier executions."""

    def __init__(self) -> None:
        self.numbers = itertools.count()
        self.pending: list[ref[Call]] = []  # In the order of writing.
        self.failed: weakref.WeakSet[Lazy] = weakref.WeakSet()  # Pending, and in an execution that raised: computed alone from then on.
        self.plans: OrderedDict[Any, Bound] = OrderedDict()
        self.written: dict[Any, Written] = {}  # Calls of built-in ops that were written before.
        self.tokens: dict[Any, int] = {}
        self.last: Run | None = None
        self.verbosity = 0
        self.tracing = _Tracing()

    def clear(self) -> None:
        """Forgets plans and what ran; pending calls go with their tensors."""
        with LOCK:
            self.plans.clear()
            self.last = None

    def write(self, kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any], home: Callable[[], Place] | None = None, key: Any = None) -> tuple[
            Call, list[Lazy]]:  # fmt: skip
        """A pending call and its outputs. home: the place of an op without inputs; key: that of call_key(). REQUIRES: LOCK is held."""
        if key is None:
            key = call_key(kind, inputs, attrs)
        outputs, token = self.written.get(key) or self._inferred(key, kind, inputs, attrs)
        place = inputs[0].place if inputs else home() if home is not None else insist_one(kind, [])
        sources: list[Source] = []
        for one in inputs:
            behind = one.call
            sources.append(one if behind is None else (behind, one.index))
            if one.place is not place:
                insist_one(kind, [each.place for each in inputs])
        call = Call(next(self.numbers), kind, sources, attrs, self.tracing.where or place_of_caller(3), token)
        made, weak = [], call.outputs
        for index, spec, form in outputs:
            one = Lazy(spec, place, call, index, None, form)
            made.append(one)
            weak.append(ref(one))
        pending = self.pending
        pending.append(ref(call))
        if len(pending) > PENDING_MAX:
            self.execute()
        return call, made

    def _inferred(self, key: Any, kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any]) -> Written:
        specs = rules.rule(kind).infer(kind, [one.spec for one in inputs], attrs)
        made = [(index, one, form_of(one)) for index, one in enumerate(specs)], self._token(kind, len(inputs), key[1])
        if kind in rules.RULES:
            if len(self.written) >= WRITTEN_MAX:
                self.written.clear()
            self.written[key] = made
        return made

    def _token(self, kind: str, inputs: int, attrs: str) -> int:
        """A number of the op with its attributes. Ops that are registered again get another one."""
        if len(self.tokens) >= WRITTEN_MAX:
            with LOCK:  # Numbers are never given twice.
                self.tokens, self.plans, self.written = {}, OrderedDict(), {}
        return self.tokens.setdefault((rules.identity(kind), inputs, attrs), next(_TOKENS))

    def at(self, where: Where | None) -> _At:
        """A context in which this thread writes there; None: where its callers are."""
        return _At(self.tracing, where)

    def written_at(self) -> Where:
        """The line of the program that writes now."""
        return self.tracing.where or place_of_caller()

    def execute(self, wanted: Lazy | None = None) -> None:
        """Computes everything that is pending and that a live tensor needs."""
        with LOCK:
            if not self.pending:
                return
            by_place: dict[Place, list[Lazy]] = {}
            for one in self._alive():
                if wanted is None or one.place is wanted.place:
                    by_place.setdefault(one.place, []).append(one)
            for place, group in by_place.items():
                if not place.is_closed or (wanted is not None and wanted.call is not None):
                    self._compute(place, group, wanted)

    def _alive(self) -> list[Lazy]:
        """The pending values that somebody has, in the order of writing."""
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
            if len(found) > before:
                pending.append(each)
        self.pending = pending
        return found

    def _compute(self, place: Place, targets: list[Lazy], wanted: Lazy | None) -> None:
        """All targets as one graph. An op that raises an error costs those that need it: the others are computed alone, and of
        those that failed nobody is tried again but the wanted one."""
        together, alone = targets, []
        if self.failed:
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
        wheres = list(map(_where, calls))
        bound = self.plans.pop((id(place), key), None)
        if bound is None:
            bound = _bound(place, calls, leaves, targets, wheres)
        elif bound.wheres != wheres:
            bound.wheres[:] = wheres
            for node, where in zip(bound.graph.nodes, wheres):
                node.where = text_of(where)
        self.plans[(id(place), key)] = bound
        while len(self.plans) > PLANS_MAX:
            self.plans.popitem(last=False)
        lowered = bound.lowered
        made = place.run(bound.program, bound.graph, lowered, bound.plan, {vid: one.held for vid, one in enumerate(leaves)}, self._line_per_op(lowered))
        for one, vid in zip(targets, bound.outputs):
            one.held, one.call = made[vid], None
        for call in calls:
            call.is_done = True
        milliseconds = (time.perf_counter() - began) * 1e3
        self.last = Run(bound.graph, lowered, bound.plan, milliseconds)
        if self.verbosity >= 2:
            print(f"gpuemu.program: {len(lowered)} ops on {place.name}, {milliseconds:.2f} ms", file=sys.stderr)

    def _line_per_op(self, lowered: list[dict[str, Any]]) -> Callable[[int], None] | None:
        if self.verbosity < 3:
            return None
        return lambda index: print(f"gpuemu.program: {index} {lowered[index]['op']}", file=sys.stderr)


TAPE = Tape()
_number, _form, _where = map(operator.attrgetter, ("number", "form", "where"))


def call_key(kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any]) -> Any:
    """What the outputs of a call follow from."""
    return (kind, repr(attrs) if attrs else "", *map(_form, inputs))


def source(one: Source) -> Source:
    """What an input of a call is now: an output may have been computed since it was written."""
    if isinstance(one, Lazy) or not one[0].is_done:
        return one
    lazy = one[0].outputs[one[1]]()
    return one if lazy is None or lazy.call is not None else lazy  # One that is gone is computed again.


def needed(targets: Iterable[Lazy]) -> list[Call]:
    """The pending calls behind values, in the order of writing."""
    found: list[Call] = []
    rest = [one.call for one in targets if one.call is not None]
    seen = object()
    while rest:
        call = rest.pop()
        if call.seen is seen:
            continue
        call.seen = seen
        found.append(call)
        for one in call.inputs:
            if type(one) is tuple:
                behind = one[0]
                if behind.seen is not seen and not (behind.is_done and type(source(one)) is Lazy):
                    rest.append(behind)
    found.sort(key=_number)
    return found


def leaves_of(calls: Iterable[Call]) -> list[Lazy]:
    """The computed values that calls begin with, in the order of their first use."""
    found: dict[int, Lazy] = {}
    for call in calls:
        for one in call.inputs:
            now = source(one)
            if isinstance(now, Lazy):
                found.setdefault(id(now), now)
    return list(found.values())


def sorted_targets(targets: Iterable[Lazy]) -> list[Lazy]:
    """In the order of writing."""
    return sorted(targets, key=lambda one: (one.call.number if one.call is not None else -1, one.index))


def _key(calls: Sequence[Call], targets: Sequence[Lazy]) -> tuple[Any, list[Lazy]]:
    """What equal tapes have in common, and leaves_of(calls). Each call is its token, which knows how many inputs follow: of calls
    with numbers from 0, of leaves below."""
    leaves: list[Lazy] = []
    leaf_at: dict[Lazy, int] = {}
    parts = [len(calls)]
    add, at = parts.append, 0
    for call in calls:
        call.at = at
        at += len(call.outputs)
        add(call.token)
        for one in call.inputs:
            if type(one) is tuple:
                behind, index = one
                if not behind.is_done:
                    add(behind.at + index)
                    continue
                one = source(one)
                if type(one) is tuple:
                    add(one[0].at + one[1])
                    continue
            leaf = leaf_at.get(one)  # type: ignore[arg-type]
            if leaf is None:
                leaf = leaf_at[one] = -1 - len(leaves)  # type: ignore[index]
                leaves.append(one)  # type: ignore[arg-type]
            add(leaf)
    parts += [target.call.at + target.index for target in targets]  # type: ignore[union-attr]
    parts += map(_form, leaves)
    return tuple(parts), leaves


def _bound(place: Place, calls: Sequence[Call], leaves: Sequence[Lazy], targets: Sequence[Lazy], wheres: list[Where]) -> Bound:
    graph = graph_of(calls, leaves, targets)
    lowered = graph.lower()
    plan = graph.bind(lowered)
    return Bound(place, graph, lowered, plan, place.prepare(graph, lowered, plan), list(graph.outputs.values()), wheres)


def write_calls(graph: IRGraph, calls: Iterable[Call], value_of: Callable[[Lazy, str], Any]) -> dict[tuple[int, int], Any]:
    """Writes calls into a graph; their outputs by call number and index. value_of(leaf, kind): the value of a leaf for an op."""
    values: dict[tuple[int, int], Any] = {}
    for call in calls:
        inputs = []
        for one in call.inputs:
            now = source(one)
            inputs.append(value_of(now, call.kind) if isinstance(now, Lazy) else values[now[0].number, now[1]])
        for index, value in enumerate(graph.apply(call.kind, inputs, call.attrs)):
            values[call.number, index] = value
        graph.nodes[-1].where = text_of(call.where)
    return values


def graph_of(calls: Sequence[Call], leaves: Sequence[Lazy], targets: Iterable[Lazy]) -> IRGraph:
    """The calls as a graph: computed values are its inputs x0, x1, ..., the targets its outputs y0, y1, ..."""
    graph = IRGraph("tape")
    at = {id(one): graph.input(f"x{i}", one.spec.shape, one.spec.dtype) for i, one in enumerate(leaves)}
    values = write_calls(graph, calls, lambda leaf, _: at[id(leaf)])
    for i, one in enumerate(sorted_targets(targets)):
        graph.output(f"y{i}", at[id(one)] if one.call is None else values[one.call.number, one.index])
    return graph


def held_array(lazy: Lazy) -> Array:
    """The content, computed if need be: a copy."""
    TAPE.execute(lazy)
    try:
        return lazy.place.get(lazy.held)
    except KernelError as problem:
        with LOCK:
            raise lazy.place.named(problem) from None


__all__ = ["LOCK", "TAPE", "Call", "Lazy", "Run", "Tape", "graph_of", "held_array", "leaves_of", "needed", "write_calls"]
