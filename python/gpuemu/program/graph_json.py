"""Reads graphs that IRGraph.to_json wrote."""

from __future__ import annotations

import json
from typing import Any

from gpuemu.program.errors import GraphError, ProgramError
from gpuemu.program.ir import FORMAT, SOURCES, IRGraph, constant_array


def read(text: str) -> IRGraph:
    """The graph of a text. Every op is checked as if it were written. Raises GraphError."""
    try:
        whole = json.loads(text)
        return _graph(whole)
    except ProgramError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as problem:
        raise GraphError(f"this is no graph of gpuemu.program: {type(problem).__name__}: {problem}") from problem


def _graph(whole: dict[str, Any]) -> IRGraph:
    if whole["format"] != FORMAT:
        raise GraphError(f"the graph is of format {whole['format']}, expected {FORMAT}")
    graph = IRGraph(whole["name"], device=whole["device"])
    sources = {one["vid"]: one for one in whole["sources"]}
    nodes = iter(whole["nodes"])
    while len(graph.values) in sources or len(graph.nodes) < len(whole["nodes"]):
        if len(graph.values) in sources:
            _source(graph, sources[len(graph.values)])
        else:
            _node(graph, next(nodes))
    for name, vid in whole["outputs"]:
        graph.output(name, graph.values[vid])
    return graph


def _source(graph: IRGraph, one: dict[str, Any]) -> None:
    if one["role"] not in SOURCES:
        raise GraphError(f"%{one['vid']} is of role '{one['role']}', expected {', '.join(SOURCES)}")
    if one["role"] == "constant":
        graph.constant(one["name"], constant_array(one["data"], one["shape"], one["dtype"]))
    else:
        getattr(graph, one["role"])(one["name"], one["shape"], one["dtype"])


def _node(graph: IRGraph, one: dict[str, Any]) -> None:
    made = graph.apply(one["kind"], [graph.values[vid] for vid in one["inputs"]], one["attrs"])
    told = [[value.vid, list(value.shape), value.dtype] for value in made]
    if told != one["outputs"]:
        raise GraphError(f"{one['kind']} gives {told}, the text says {one['outputs']}")
