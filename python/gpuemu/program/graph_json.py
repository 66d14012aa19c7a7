"""Reads graphs written by IRGraph.to_json."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from gpuemu.program.errors import GraphError, ProgramError
from gpuemu.program.values import FORMAT, SOURCES, constant_array

G = TypeVar("G")


def read(text: str, make: Callable[..., G]) -> G:
    """Returns the graph of a text; `make` is its class. Checks every op as if it were written again. Raises GraphError."""
    try:
        whole = json.loads(text)
        graph = make(whole["name"], device=whole["device"])
        _fill(graph, whole)
        return graph
    except GraphError:
        raise
    except (ProgramError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as problem:
        raise GraphError(f"this is no graph of gpuemu.program: {type(problem).__name__}: {problem}") from problem


def _fill(graph: Any, whole: dict[str, Any]) -> None:
    if whole["format"] != FORMAT:
        raise GraphError(f"the graph is of format {whole['format']}, expected {FORMAT}")
    sources = {one["vid"]: one for one in whole["sources"]}
    nodes = iter(whole["nodes"])
    while len(graph.values) in sources or len(graph.nodes) < len(whole["nodes"]):
        if len(graph.values) in sources:
            _source(graph, sources[len(graph.values)])
        else:
            _node(graph, next(nodes))
    for name, vid in whole["outputs"]:
        graph.output(name, graph.values[vid])


def _source(graph: Any, one: dict[str, Any]) -> None:
    if one["role"] not in SOURCES:
        raise GraphError(f"%{one['vid']} is of role '{one['role']}', expected {', '.join(SOURCES)}")
    if one["role"] == "constant":
        graph.constant(one["name"], constant_array(one["data"], one["shape"], one["dtype"]))
    else:
        getattr(graph, one["role"])(one["name"], one["shape"], one["dtype"])


def _node(graph: Any, one: dict[str, Any]) -> None:
    made = graph.apply(one["kind"], [graph.values[vid] for vid in one["inputs"]], one["attrs"])
    told = [[value.vid, list(value.shape), value.dtype] for value in made]
    if told != one["outputs"]:
        raise GraphError(f"{one['kind']} gives {told}, the text says {one['outputs']}")
