"""Copies a graph with some of its ops changed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuemu.program.values import GraphData, Node, Value

Write = Callable[["Rebuilt", Node], "Sequence[Value] | None"]


class Rebuilt:
    """A graph under construction from an old one. `graph`: the new graph; `at`: the new value of each old vid."""

    def __init__(self, old: Any) -> None:
        self.old, self.at = old, dict[int, Value]()
        self.graph: Any = type(old)(old.name, device=old.device)

    def __getitem__(self, vid: int) -> Value:
        """The new value of an old vid."""
        return self.at[vid]

    def apply(self, where: str, kind: str, inputs: Sequence[Value], attrs: dict[str, Any] | None = None) -> list[Value]:
        """Adds an op with the source position `where`; returns its outputs."""
        made: list[Value] = self.graph.apply(kind, list(inputs), attrs or {})
        self.graph.nodes[-1].where = where
        return made

    def one(self, where: str, kind: str, *inputs: Value, **attrs: Any) -> Value:
        """Adds an op with one output; returns that."""
        return self.apply(where, kind, inputs, attrs)[0]

    def came_from(self, old: int) -> None:
        """Records the old node `old` as the origin of the ops added since the last call."""
        self.graph.node_origins += [old] * (len(self.graph.nodes) - len(self.graph.node_origins))

    def copy(self, node: Node) -> list[Value]:
        """Copies an op unchanged."""
        return self.apply(node.where, node.kind, [self.at[vid] for vid in node.inputs], node.attrs)


def rebuild(old: Any, write: Write, output: Callable[[Rebuilt, int], Value] | None = None) -> Any:
    """A copy of the graph in which `write` adds each op and returns its outputs, or None if another call adds them. output: returns the
    new value that the host reads in place of an old vid."""
    made = Rebuilt(old)
    nodes, written = iter(old.nodes), 0
    for value in old.values:
        if value.producer is None:
            made.at[value.vid] = _source(made.graph, old, value)
        elif value.producer >= written:
            node = next(nodes)
            written = node.index + 1
            made.at.update(zip(node.outputs, write(made, node) or ()))
            made.came_from(node.index)
    origins = {value.vid: vid for vid, value in made.at.items() if value.spec == old.values[vid].spec and vid not in old.outputs.values()}
    for name, vid in old.outputs.items():
        given = made.at[vid] if output is None else output(made, vid)
        origins[made.graph.output(name, given).vid] = vid
    made.came_from(len(old.nodes) - 1)
    made.graph.origins = origins
    return made.graph


def followed(first: Any, second: Any) -> Any:
    """The second graph, rebuilt from the first, with its origins changed to those of the first."""
    second.origins = {new: first.origins[old] for new, old in second.origins.items() if old in first.origins}
    second.node_origins = [first.node_origins[old] for old in second.node_origins]
    return second


def _source(graph: Any, old: GraphData, value: Value) -> Value:
    made: Value
    if value.role == "constant":
        made = graph.constant(value.name, old.constants[value.vid])
    else:
        made = getattr(graph, value.role)(value.name, value.shape, value.dtype)
    return made
