"""The pending ops of lazy tensors: values and calls, the calls that values need, and the keys of equal tapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Union
from weakref import ref

import gpuemu.program.ops.rules as rules
from gpuemu.program.ir import Where
from gpuemu.program.places import Place, insist_one
from gpuemu.program.specs import FLOATS, Spec

# Most remembered calls with distinct operands or attributes, so that a loop with changing shapes does not grow without limit.
WRITTEN_MAX = 4096

TOKENS = itertools.count(1)

_FORMS: dict[Spec, int] = {}


def form_of(spec: Spec) -> int:
    """Returns a number for the shape and dtype, used in keys. Two specs never share a number; a spec may get a new one."""
    if len(_FORMS) >= WRITTEN_MAX:
        _FORMS.clear()
    return _FORMS.setdefault(spec, next(TOKENS))


class Lazy:
    """One value: computed (`held`), or the output of a pending call. It lives as long as a tensor, or a gradient that needs
    it."""

    __slots__ = ("__weakref__", "at", "call", "epoch", "form", "held", "place", "spec")

    at: int  # Its number in the epoch of its call, or in that of the last call that read it.

    def __init__(self, spec: Spec, place: Place, held: Any = None) -> None:
        self.spec, self.place, self.held = spec, place, held
        self.call: Call | None = None
        self.form = form_of(spec)
        self.epoch: Epoch | None = None  # The epoch in which it is a leaf.

    @property
    def index(self) -> int:
        """Which output of its pending call it is."""
        assert self.call is not None
        return self.at - self.call.first

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        return self.spec.shape

    @property
    def dtype(self) -> str:
        """The dtype's name."""
        return self.spec.dtype


Source = Union[Lazy, "tuple[Call, int]"]  # A computed value, or the output of a pending call by its index.


class Epoch:
    """The calls from an empty tape on. It numbers their outputs from 0 up, and the computed values that they read from -1 down,
    so that a key of the tape is put together from parts of its calls. is_whole: all calls are of one place and none was
    executed."""

    __slots__ = ("is_whole", "leaves", "place", "values")

    def __init__(self, place: Place) -> None:
        self.place, self.values, self.leaves, self.is_whole = place, 0, -1, True


class Op:
    """What equal calls have in common: the kind, the attributes, the token that stands for both in keys, the outputs, and the row
    of the kind in the rules. Attributes are shared and never changed. shapes: the specs of the inputs if the gradient reads no
    input."""

    __slots__ = ("attrs", "floats", "gradients", "keeps_outputs", "kind", "outputs", "rule", "shapes", "specs", "token")

    def __init__(self, kind: str, attrs: dict[str, Any], token: int, rule: rules.Rule, inputs: Sequence[Spec], specs: list[Spec]) -> None:
        self.kind, self.attrs, self.token, self.rule, self.specs = kind, attrs, token, rule, specs
        self.outputs = [(one, form_of(one)) for one in specs]
        self.floats = [one.dtype in FLOATS for one in specs]  # Whether each output can have a gradient.
        self.shapes = list(inputs) if "i" not in rule.needs and all(one.dtype in FLOATS for one in inputs) else None
        self.keeps_outputs = "o" in rule.needs
        self.gradients: dict[Any, Any] = {}  # Calls that the gradient wrote before, by the inputs that need one.


class Call:
    """A pending op. Outputs are weak references, because they may be unused; a call that needs an output keeps only the call."""

    __slots__ = ("__weakref__", "at", "first", "inputs", "is_done", "is_read", "leaves", "number", "op", "outputs", "parts", "seen", "where")

    at: int  # The number of its first output in a key.
    first: int  # The same in the epoch.
    number: int
    op: Op
    inputs: list[Lazy | Call]  # Computed values, and the calls of pending ones.
    where: Where
    is_done: bool
    is_read: bool  # A later call reads one of its outputs.
    seen: object  # Marks a call that another one needs, while calls are collected.
    outputs: list[ref[Lazy]]
    parts: list[int]  # The token and the numbers of the inputs in the epoch.
    leaves: list[Lazy]  # The inputs that are computed and that no earlier call of the epoch read.

    def sources(self) -> Iterable[Source]:
        """Returns the inputs in their current form: an output may have been computed since the call was written."""
        for one, number in zip(self.inputs, self.parts[1:]):
            yield one if type(one) is Lazy else _current(one, number - one.first)  # type: ignore[arg-type, union-attr]


def _current(behind: Call, index: int) -> Source:
    lazy = behind.outputs[index]() if behind.is_done else None
    return lazy if lazy is not None and lazy.call is None else (behind, index)  # An output that was freed is computed again.


def call_of(number: int, op: Op, inputs: Sequence[Lazy], place: Place, where: Where, pending: list[ref[Call]], epoch: Epoch) -> tuple[
        Call, list[Lazy]]:  # fmt: skip
    """Adds a pending call; returns it and its outputs. Every op of a program is written by it, so it makes objects without __init__(),
    which would take half of its time. If it is interrupted, the call has no output and is never computed."""
    call: Call = _new(Call)
    call.number = number
    call.op = op
    call.where = where
    call.is_done = call.is_read = False
    call.seen = None
    call.first = at = epoch.values
    before: list[Lazy | Call] = []
    call.inputs = before
    call.leaves = leaves = []
    call.outputs = outputs = []
    call.parts = parts = [op.token]
    pending.append(ref(call))
    for one in inputs:
        behind = one.call
        if behind is not None:
            behind.is_read = True
            before.append(behind)
        else:
            before.append(one)
            if one.epoch is not epoch:
                one.epoch = epoch
                one.at = epoch.leaves
                epoch.leaves -= 1
                leaves.append(one)
        parts.append(one.at)
    if place is not epoch.place:
        epoch.is_whole = False
    if leaves or (inputs and not epoch.is_whole):
        insist_one(op.kind, [one.place for one in inputs])
    made = []
    for spec, form in op.outputs:
        lazy: Lazy = _new(Lazy)
        lazy.spec = spec
        lazy.form = form
        lazy.place = place
        lazy.call = call
        lazy.held = lazy.epoch = None
        lazy.at = at
        made.append(lazy)
        outputs.append(ref(lazy))
        at += 1
    epoch.values = at
    return call, made


class Collected(NamedTuple):
    """All pending calls that live tensors need, as one graph. targets: the values of these tensors, in the order of writing; key,
    leaves: the results of key_of()."""

    place: Place
    calls: list[Call]
    targets: list[Lazy]
    key: tuple[int, ...]
    leaves: list[Lazy]


_new: Any = object.__new__


def call_key(kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any]) -> Any:
    """Returns a key of everything that determines the outputs of a call."""
    return (kind, repr(attrs) if attrs else "", *[one.form for one in inputs])


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
        rest += [one[0] for one in call.sources() if type(one) is tuple]
    found.sort(key=lambda call: call.number)
    return found


def leaves_of(calls: Iterable[Call]) -> list[Lazy]:
    """Returns the computed values that calls read, in the order of their first use."""
    found: dict[int, Lazy] = {}
    for call in calls:
        for one in call.sources():
            if isinstance(one, Lazy):
                found.setdefault(id(one), one)
    return list(found.values())


def sorted_targets(targets: Iterable[Lazy]) -> list[Lazy]:
    """Sorts values in the order of writing, computed ones first."""
    return sorted(targets, key=lambda one: (one.call.number, one.index) if one.call is not None else (-1, 0))


def key_of(calls: Sequence[Call], targets: Sequence[Lazy]) -> tuple[Any, list[Lazy]]:
    """Returns a key that is equal for equal tapes, and leaves_of(calls). Each call is represented by its token, which determines
    how many inputs follow: calls are numbered from 0 up, leaves from -1 down."""
    leaf_at: dict[Lazy, int] = {}
    parts, at = [len(calls)], 0
    for call in calls:
        call.at = at
        at += len(call.outputs)
        parts.append(call.op.token)
        for one in call.sources():
            parts.append(leaf_at.setdefault(one, -1 - len(leaf_at)) if isinstance(one, Lazy) else one[0].at + one[1])
    parts += [target.call.at + target.index for target in targets]  # type: ignore[union-attr]
    parts += [one.form for one in leaf_at]
    return tuple(parts), list(leaf_at)


def collected(pending: Iterable[ref[Call]], epoch: Epoch) -> Collected | None:
    """Returns all pending calls, with a key from their parts that equals that of key_of(). Returns None unless they are one graph
    of which no call is gone: then needed() and key_of() are to be used."""
    calls: list[Any] = [each() for each in pending]
    if not epoch.is_whole or None in calls:
        return None
    targets: list[Lazy] = []
    leaves: list[Lazy] = []
    parts = [len(calls)]
    for call in calls:
        parts += call.parts
        if call.leaves:
            leaves += call.leaves
        is_read = call.is_read  # By a call that is here, because none is gone.
        for output in call.outputs:
            target = output()
            if target is not None:
                targets.append(target)
                is_read = True
        if not is_read:
            return None
    parts += [one.at for one in targets]
    parts += [one.form for one in leaves]
    return Collected(epoch.place, calls, targets, tuple(parts), leaves)


