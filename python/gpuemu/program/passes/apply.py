"""Applies passes by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from gpuemu.program.errors import UnknownPassError
from gpuemu.program.passes.fuse import fuse
from gpuemu.program.passes.mixed_precision import mixed_precision
from gpuemu.program.passes.rematerialise import rematerialise
from gpuemu.program.values import GraphData

PASSES: dict[str, Callable[..., tuple[Any, list[str]]]] = {
    "fuse": fuse,
    "mixed_precision": mixed_precision,
    "rematerialise": rematerialise,
}


class PassResult(NamedTuple):
    """graph: the new graph; the old one is unchanged. changes: one line for each change, empty if the pass found nothing to do."""

    graph: Any
    changes: list[str]


def apply_pass(graph: Any, name: str, **options: Any) -> PassResult:
    """Applies the pass "fuse", "rematerialise" or "mixed_precision" to a copy of the graph. Raises ValueError for another name."""
    if not isinstance(graph, GraphData):
        raise TypeError(f"graph is of type {type(graph).__name__}, expected an IRGraph")
    if name not in PASSES:
        raise UnknownPassError(name, sorted(PASSES))
    return PassResult(*PASSES[name](graph, **options))


class Origins(NamedTuple):
    """Maps a graph after passes to the original. vids: new vid to old; nodes: the old node of each new one."""

    vids: dict[int, int]
    nodes: list[int]


def applied(graph: Any, names: Sequence[str]) -> tuple[Any, Origins]:
    """Applies passes in order; returns the new graph and its origins."""
    vids, nodes = {value.vid: value.vid for value in graph.values}, list(range(len(graph.nodes)))
    for name in names:
        graph = apply_pass(graph, name).graph
        vids = {new: vids[old] for new, old in graph.origins.items() if old in vids}
        nodes = [nodes[old] for old in graph.node_origins]
    return graph, Origins(vids, nodes)
