"""Differentiation: records how each value was computed, and computes the gradients of the leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import gpuemu.program.ops.rules as rules
from gpuemu.program.errors import GradError
from gpuemu.program.functions import number_array
from gpuemu.program.ops.gradients import Backward
from gpuemu.program.places import Place
from gpuemu.program.specs import FLOATS, Spec, as_stored
from gpuemu.program.calls import Call, Lazy, Op
from gpuemu.program.tape import TAPE

# The gradient function of program.call, which works on tensors: returns the gradients of the inputs of an edge, given those of
# its outputs.
OfCallers = Callable[["Edge", Sequence[Lazy]], "list[Lazy | None]"]


class Edge:
    """Records how a tensor was computed, for its gradient. inputs: the values if the gradient needs them, else their specs;
    parents: leaves and other edges, None for an input that needs no gradient. gradient: the function given to program.call."""

    __slots__ = ("__weakref__", "gradient", "inputs", "number", "op", "outputs", "parents")

    number: int
    op: Op
    gradient: OfCallers | None
    inputs: Sequence[Lazy | Spec]
    outputs: Sequence[Lazy | Spec]
    parents: list[Any]  # Tensors that are leaves, and (Edge, index).


def edge_of(call: Call, gradient: OfCallers | None, inputs: Sequence[Any], lazies: list[Lazy], outputs: list[Lazy]) -> Edge:
    """Returns the edge of a call. It is made without __init__(), as calls are."""
    edge: Edge = object.__new__(Edge)
    edge.number, edge.gradient = call.number, gradient
    edge.op = op = call.op
    if gradient is None:
        edge.inputs = op.shapes or _kept(op, lazies)
        edge.outputs = outputs if op.keeps_outputs else op.specs
    else:
        edge.inputs, edge.outputs = lazies, outputs
    edge.parents = parents = []
    for one in inputs:
        if one.requires_grad:
            behind = one._edge
            parents.append(one if behind is None else (behind, one._index))
        else:
            parents.append(None)
    return edge


def _kept(op: Op, lazies: list[Lazy]) -> Sequence[Lazy | Spec]:
    return lazies if "i" in op.rule.needs else [one.spec if one.spec.dtype in FLOATS else one for one in lazies]


def leaf(value: Any, dtype: str | None, place: Place, what: str = "operand") -> Lazy:
    """Creates a leaf from host data."""
    array, kind = as_stored(value, dtype, what)
    return Lazy(Spec(array.shape, kind), place, place.put(array, kind))


def number_of(value: Any, like: Lazy, op: str) -> Lazy:
    """Returns a number as a value with the dtype and place of another value."""
    dtype, place = like.spec.dtype, like.place
    number: Lazy = place.number(value, dtype, lambda: leaf(number_array(value, dtype, op), dtype, place))
    return number


def written(kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any]) -> list[Lazy]:
    """Writes an op without recording its gradient; returns its outputs. REQUIRES: LOCK is held."""
    return TAPE.write(kind, inputs, attrs)[1]


def sum_of(a: Lazy, b: Lazy) -> Lazy:
    """Returns a + b. REQUIRES: LOCK is held."""
    return written("add", (a, b), {})[0]


def leaf_gradients(start: Any, first: Lazy) -> list[tuple[Any, Lazy]]:
    """Returns the gradient of each leaf that a parent was computed from; `first` is the gradient of the start. Changes nothing
    else if it fails. REQUIRES: LOCK is held."""
    leaves: dict[int, tuple[Any, Lazy]] = {}
    arrived: dict[int, tuple[Edge, list[Lazy | None]]] = {}  # By number: the edge written last has all of its gradients.

    def add(parent: Any, made: Lazy) -> None:
        if type(parent) is not tuple:
            so_far = leaves.get(id(parent))
            leaves[id(parent)] = (parent, made if so_far is None else sum_of(so_far[1], made))
            return
        edge, index = parent
        found = arrived.get(edge.number)
        if found is None:
            found = arrived[edge.number] = edge, [None] * len(edge.op.specs)
        slots = found[1]
        before = slots[index]
        slots[index] = made if before is None else sum_of(before, made)

    add(start, first)
    while arrived:
        edge, dys = arrived.pop(max(arrived))
        for parent, made in zip(edge.parents, _of_edge(edge, dys, first.place)):
            if parent is not None and made is not None:
                add(parent, made)
    if not leaves:
        raise GradError("backward: no leaf that the tensor was computed from requires a gradient")
    return list(leaves.values())


def _of_edge(edge: Edge, dys: Sequence[Lazy | None], place: Place) -> list[Lazy | None]:
    """Returns the gradients of the inputs of one op."""
    whole: Any = dys
    if None in dys:
        whole = [dy if dy is not None else leaf(np.zeros(spec.shape), spec.dtype, place) for dy, spec in zip(dys, edge.op.specs)]
    if edge.gradient is not None:
        return edge.gradient(edge, whole)
    wanted = tuple([one is not None for one in edge.parents])
    recipe = edge.op.gradients.get(wanted)
    return recipe.follow(edge, whole) if recipe is not None else _first(edge, whole, wanted)


def _first(edge: Edge, dys: Sequence[Lazy], wanted: Sequence[bool]) -> list[Lazy | None]:
    """Calls the gradient function of an op, and keeps what it wrote if every edge of the op has the same gradient."""
    op = edge.op
    if op.rule.gradient is None:
        raise GradError(f"backward: {op.kind.removeprefix(rules.RAW)} has no gradient; give call() one with gradient=")
    recipe = Recipe(edge, dys)
    made = op.rule.gradient(Backward(recipe.apply, edge.inputs, edge.outputs, op.attrs, dys, recipe.number, wanted))
    if recipe.ends(made):
        op.gradients[wanted] = recipe
    return made


class Recipe:
    """What the gradient function of an op wrote: ops and numbers. The function depends on nothing but what equal ops have in
    common, so the ops are written again without it. Values are numbered: the inputs of the edge, its outputs, the gradients of
    these, and the results of the steps. A value with two numbers could be either in the next edge, so then nothing is noted."""

    __slots__ = ("_at", "_given", "results", "steps")

    def __init__(self, edge: Edge, dys: Sequence[Lazy]) -> None:
        self.steps: list[tuple[Any, list[int]]] = []  # An op and its inputs, or a number and the value that it is like.
        self.results: list[int | None] = []
        given = [*edge.inputs, *edge.outputs, *dys]
        lazies = [one for one in given if type(one) is Lazy]
        self._given = len(given)
        self._at: list[Any] | None = given if len(set(lazies)) == len(lazies) else None  # None: nothing is noted.

    def apply(self, kind: str, inputs: Sequence[Lazy], attrs: dict[str, Any]) -> list[Lazy]:
        """Writes an op, and notes it."""
        call, made = TAPE.write(kind, inputs, attrs)
        self._note(call.op, list(map(self._number_of, inputs)), made)
        if kind not in rules.RULES:
            self._at = None  # Its name may be registered again.
        return made

    def number(self, value: Any, like: Any) -> Lazy:
        """Makes a number, and notes it."""
        made = number_of(value, like, "backward")
        if 0 <= self._number_of(made) < self._given:
            self._at = None  # The place keeps the number, and it was an operand or a gradient.
        self._note(value, [self._number_of(like)], [made])
        return made

    def _number_of(self, value: Any) -> int:
        return next((at for at, one in enumerate(self._at or ()) if one is value), -1)

    def _note(self, step: Any, of: list[int], made: list[Lazy]) -> None:
        if self._at is not None:
            self.steps.append((step, of))
            self._at = None if -1 in of else [*self._at, *made]  # -1: a value from elsewhere.

    def ends(self, made: Sequence[Lazy | None]) -> bool:
        """Ends the notes with the results of the function. Returns False if its steps cannot be repeated."""
        places = [None if one is None else self._number_of(one) for one in made]
        known, self._at = self._at is not None and -1 not in places, None  # Keeps no value.
        self.results = places
        return known

    def follow(self, edge: Edge, dys: Sequence[Lazy]) -> list[Lazy | None]:
        """Does the same for an edge of an equal op."""
        values: list[Any] = [*edge.inputs, *edge.outputs, *dys]
        for step, of in self.steps:
            if type(step) is Op:
                values += TAPE.write(step.kind, [values[at] for at in of], step.attrs, None, step)[1]
            else:
                values.append(number_of(step, values[of[0]], "backward"))
        return [None if at is None else values[at] for at in self.results]
