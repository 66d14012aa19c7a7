"""The pending ops of lazy tensors, and their execution as one graph."""

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
PENDING_MAX = 4096  # Most pending calls, so that a loop that reads nothing does not grow without limit.
# Most remembered calls with distinct operands or attributes, so that a loop with changing shapes does not grow without limit.
WRITTEN_MAX = 4096

_TOKENS = itertools.count(1)

LOCK = threading.RLock()

_FORMS: dict[Spec, int] = {}


def form_of(spec: Spec) -> int:
    """Returns a number for the shape and dtype, used in keys. Two specs never share a number; a spec may get a new one."""
    if len(_FORMS) >= WRITTEN_MAX:
        _FORMS.clear()
    return _FORMS.setdefault(spec, next(_TOKENS))


class Lazy:
    """One value: computed (`held`), or the output of a pending call. It lives as long as a tensor, or a gradient that needs
    it."""

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
    """A pending op. Outputs are weak references, because they may be unused; a call that needs an output keeps only the call."""

    __slots__ = ("__weakref__", "at", "attrs", "inputs", "is_done", "kind", "number", "outputs", "seen", "token", "where")

    at: int  # Its position in the key of _key().

    def __init__(self, number: int, kind: str, inputs: list[Source], attrs: dict[str, Any], where: Where, token: int) -> None:
        self.number, self.kind, self.inputs, self.attrs, self.where, self.token = number, kind, inputs, attrs, where, token
        self.is_done = False
        self.seen: object = None  # Used by needed().
        self.outputs: list[ref[Lazy]] = []


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
    """Per thread: the place of new tensors while a function is traced, and the source position of ops if it is not the
    caller's."""

    place: Place | None = None
    where: Where | None = None


class _At:
    """The context manager of Tape.at()."""

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
        # Pending values whose execution raised an error; each is then computed alone.
        self.failed: weakref.WeakSet[Lazy] = weakref.WeakSet()
        self.plans: OrderedDict[Any, Bound] = OrderedDict()
        self.written: dict[Any, Written] = {}  # Calls of built-in ops that were written before.
        self.tokens: dict[Any, int] = {}
        self.last: Run | None = None
        self.verbosity = 0
        self.tracing = _Tracing()

    def clear(self) -> None:
        """Removes plans and the last run; pending calls are removed with their tensors."""
        with LOCK:
            self.plans.clear()
            self.last = None

    def write(self, kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any], home: Callable[[], Place] | None = None, key: Any = None) -> tuple[
            Call, list[Lazy]]:  # fmt: skip
        """Adds a pending call; returns it and its outputs. home: the place of an op without inputs; key: the result of
        call_key(). REQUIRES: LOCK is held."""
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
        """Returns a number for the op with its attributes. An op that is registered again gets a new number."""
        if len(self.tokens) >= WRITTEN_MAX:
            with LOCK:  # Numbers are never reused.
                self.tokens, self.plans, self.written = {}, OrderedDict(), {}
        return self.tokens.setdefault((rules.identity(kind), inputs, attrs), next(_TOKENS))

    def at(self, where: Where | None) -> _At:
        """Returns a context in which ops of this thread get this source position; None: the caller's."""
        return _At(self.tracing, where)

    def written_at(self) -> Where:
        """Returns the line of the program that is writing an op."""
        return self.tracing.where or place_of_caller()

    def execute(self, wanted: Lazy | None = None) -> None:
        """Computes all pending ops that a live tensor needs."""
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
            if len(found) > before:
                pending.append(each)
        self.pending = pending
        return found

    def _compute(self, place: Place, targets: list[Lazy], wanted: Lazy | None) -> None:
        """Computes all targets as one graph. If an op raises an error, only the values that need it fail: the others are computed
        alone, and of those that failed only `wanted` is tried again."""
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
    """Returns a key of everything that determines the outputs of a call."""
    return (kind, repr(attrs) if attrs else "", *map(_form, inputs))


def source(one: Source) -> Source:
    """Returns the current form of a call's input: an output may have been computed since the call was written."""
    if isinstance(one, Lazy) or not one[0].is_done:
        return one
    lazy = one[0].outputs[one[1]]()
    return one if lazy is None or lazy.call is not None else lazy  # An output that was freed is computed again.


def needed(targets: Iterable[Lazy]) -> list[Call]:
    """Returns the pending calls that values depend on, in the order of writing."""
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
    """Returns the computed values that calls read, in the order of their first use."""
    found: dict[int, Lazy] = {}
    for call in calls:
        for one in call.inputs:
            now = source(one)
            if isinstance(now, Lazy):
                found.setdefault(id(now), now)
    return list(found.values())


def sorted_targets(targets: Iterable[Lazy]) -> list[Lazy]:
    """Sorts values in the order of writing."""
    return sorted(targets, key=lambda one: (one.call.number if one.call is not None else -1, one.index))


def _key(calls: Sequence[Call], targets: Sequence[Lazy]) -> tuple[Any, list[Lazy]]:
    """Returns a key that is equal for equal tapes, and leaves_of(calls). Each call is represented by its token, which determines
    how many inputs follow: calls are numbered from 0 up, leaves from -1 down."""
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
    """Writes calls into a graph; returns their outputs by call number and index. value_of(leaf, kind): the value of a leaf for an
    op."""
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
