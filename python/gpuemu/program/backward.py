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
from gpuemu.program.tape import TAPE, Call, Lazy

# The gradient function of program.call, which works on tensors: returns the gradients of the inputs of an edge, given those of
# its outputs.
OfCallers = Callable[["Edge", Sequence[Lazy]], "list[Lazy | None]"]


class Edge:
    """Records how a tensor was computed, for its gradient. inputs: the values if the gradient needs them, else their specs;
    parents: leaves and other edges, None for an input that needs no gradient. gradient: the function given to program.call."""

    __slots__ = ("__weakref__", "attrs", "gradient", "inputs", "kind", "number", "outputs", "parents", "specs")

    def __init__(self, call: Call, gradient: OfCallers | None, inputs: Sequence[Any], lazies: list[Lazy], outputs: list[Lazy]) -> None:
        kind = call.kind
        needs = rules.rule(kind).needs if gradient is None else "io"
        self.number = call.number
        self.kind = kind
        self.attrs = call.attrs
        self.gradient = gradient
        self.specs = [outputs[0].spec] if len(outputs) == 1 else [one.spec for one in outputs]
        self.inputs: list[Lazy | Spec] = lazies if "i" in needs else [one.spec if one.spec.dtype in FLOATS else one for one in lazies]  # type: ignore[assignment]
        self.outputs: list[Lazy | Spec] = outputs if "o" in needs else self.specs  # type: ignore[assignment]
        parents: list[Any] = []
        self.parents = parents  # Tensors that are leaves, and (Edge, index).
        for one in inputs:
            if one.requires_grad:
                edge = one._edge
                parents.append(one if edge is None else (edge, one._index))
            else:
                parents.append(None)


def leaf(value: Any, dtype: str | None, place: Place, what: str = "operand") -> Lazy:
    """Creates a leaf from host data."""
    array, kind = as_stored(value, dtype, what)
    return Lazy(Spec(array.shape, kind), place, None, 0, place.put(array, kind))


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
            found = arrived[edge.number] = edge, [None] * len(edge.specs)
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
        whole = [dy if dy is not None else leaf(np.zeros(spec.shape), spec.dtype, place) for dy, spec in zip(dys, edge.specs)]
    if edge.gradient is not None:
        return edge.gradient(edge, whole)
    gradient = rules.rule(edge.kind).gradient
    if gradient is None:
        raise GradError(f"backward: {edge.kind.removeprefix(rules.RAW)} has no gradient; give call() one with gradient=")
    wanted = [one is not None for one in edge.parents]
    return gradient(Backward(written, edge.inputs, edge.outputs, edge.attrs, whole, lambda value, like: number_of(value, like, edge.kind), wanted))
