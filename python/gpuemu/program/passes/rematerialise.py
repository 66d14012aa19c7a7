"""Computes cheap values a second time if that makes the workspace smaller. The results are bit-identical."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gpuemu.program.errors import GraphError
from gpuemu.program.passes.rebuild import Rebuilt, followed, rebuild
from gpuemu.program.values import Node, Value

CHEAP = ("add", "sub", "mul", "div", "neg", "relu", "relu_bwd", "gelu", "silu", "sigmoid", "tanh", "expand", "cast", "copy_saved", "transpose",
         "fused", "op:bias_add", "op:add", "op:sub", "op:mul", "op:div", "op:relu", "op:relu_bwd", "op:cast", "op:copy")  # fmt: skip


def rematerialise(graph: Any) -> tuple[Any, list[str]]:
    """Computes values again as long as that lowers workspace_bytes."""
    changes: list[str] = []
    graph = rebuild(graph, lambda made, node: made.copy(node))
    best = _workspace(graph)
    while best is not None:
        for node, reader in _candidates(graph):
            changed = _again(graph, node, reader)
            size = _workspace(changed)
            if size is not None and size < best:
                changes.append(f"op {node.index}, {node.kind}: computed again before op {reader}, workspace {best} to {size} bytes")
                graph, best = followed(graph, changed), size
                break
        else:
            break
    return graph, changes


def _workspace(graph: Any) -> int | None:
    """Workspace bytes; None if an op would read a parameter after its update."""
    try:
        made: int = graph.bind(graph.lower()).workspace_bytes
        return made
    except GraphError:
        return None


def _candidates(graph: Any) -> list[tuple[Node, int]]:
    """Pairs of a cheap op and a reader before which to compute it again, those with the most bytes kept for the longest time first.
    Only values kept across the peak of memory use can help."""
    lowered = graph.lower()
    plan = graph.bind(lowered)
    alive = [sum(plan.slots[vid].nbytes for vid, (first, last) in plan.lifetimes.items() if first <= at <= last) for at in range(len(lowered))]
    most = max(alive, default=0)
    peaks = [lowered[at]["node"] for at, size in enumerate(alive) if size == most]
    made = []
    for node in graph.nodes:
        if node.kind not in CHEAP or len(node.outputs) != 1 or graph.values[node.outputs[0]].role != "workspace":
            continue
        users = sorted(graph.values[node.outputs[0]].users)
        for before, reader in zip([node.index, *users], users):
            if any(before < peak < reader for peak in peaks):
                made.append((graph.values[node.outputs[0]].spec.nbytes * (reader - before), node, reader))
    return [(node, reader) for _, node, reader in sorted(made, key=lambda one: (-one[0], one[1].index, one[2]))]


def _again(graph: Any, what: Node, reader: int) -> Any:
    """The graph with an op computed again before node `reader`, which it and later readers use."""
    def write(made: Rebuilt, node: Node) -> Sequence[Value]:
        if node.index == reader:
            made.at[what.outputs[0]] = made.copy(what)[0]
        return made.copy(node)

    return rebuild(graph, write)
