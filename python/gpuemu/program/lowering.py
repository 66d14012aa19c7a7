"""Lowers ops of the IR to calls of built-in ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gpuemu.program.passes.apply as apply
import gpuemu.program.ops.rules as rules
from gpuemu.program.ops.emitter import Emitter, Ref
from gpuemu.program.errors import GraphError
from gpuemu.program.ops.primitives import fields
from gpuemu.program.values import GraphData, Node, Value

def lower(graph: GraphData, passes: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Returns the calls and sets graph.lowered_values, aliases and lowered_constants."""
    if isinstance(passes, str) or not isinstance(passes, Sequence):
        raise TypeError(f"passes is {passes!r}, expected a list of names, as in ['fuse']")
    if passes:
        return _lower_passed(graph, *apply.applied(graph, passes))
    _insist_on_versions(graph)
    lowered: list[dict[str, Any]] = []
    graph.lowered_values, graph.aliases, graph.lowered_constants = [], dict(graph.versions), {}
    for node in graph.nodes:
        lowered += _lower_node(graph, node)
    return lowered


def _lower_passed(graph: GraphData, passed: GraphData, origins: apply.Origins) -> list[dict[str, Any]]:
    """Lowers the graph after passes. The calls use the vids and node numbers of the original graph; values that passes added get new vids."""
    lowered = lower(passed)
    if passed is graph:
        return lowered
    graph.lowered_values = []
    vids = dict(origins.vids)
    for value in (*passed.values, *passed.lowered_values):
        if value.vid not in vids:
            node = None if value.producer is None else origins.nodes[value.producer]
            vids[value.vid] = len(graph.values) + len(graph.lowered_values)
            graph.lowered_values.append(Value(graph, vids[value.vid], value.name, value.shape, value.dtype, value.device, value.role, node))
    graph.aliases = {vids[vid]: vids[base] for vid, base in passed.aliases.items()}
    constants = {**passed.constants, **passed.lowered_constants}
    graph.lowered_constants = {vids[vid]: array for vid, array in constants.items() if vids[vid] not in graph.constants}
    return [{**one, "inputs": [vids[vid] for vid in one["inputs"]], "outputs": [vids[vid] for vid in one["outputs"]],
             "node": origins.nodes[one["node"]]} for one in lowered]  # fmt: skip


def _lower_node(graph: GraphData, node: Node) -> list[dict[str, Any]]:
    e = Emitter()
    inputs = [Ref(graph.values[vid].spec, vid) for vid in node.inputs]
    attrs = {name: value for name, value in node.attrs.items() if name != "outputs"}
    outputs = rules.lower(e, node.kind, inputs, attrs, [graph.values[vid].spec for vid in node.outputs])
    for vid, ref in zip(node.outputs, outputs, strict=True):
        if ref.vid is None:
            ref.vid = vid
            if ref.alias is not None:
                _number(graph, node, ref.alias)
                graph.aliases[vid] = _vid(ref.alias)
        else:
            graph.aliases[vid] = ref.vid
    for ref in e.made:
        _number(graph, node, ref)
    return [{"op": one.op, "inputs": [_vid(ref) for ref in one.inputs], "outputs": [_vid(ref) for ref in one.outputs],
             "attrs": one.attrs, "node": node.index} for one in e.ops]  # fmt: skip


def _number(graph: GraphData, node: Node, ref: Ref) -> None:
    """Gives a value that was created by lowering the next vid."""
    if ref.vid is not None:
        return
    if ref.alias is not None:
        _number(graph, node, ref.alias)
    ref.vid = len(graph.values) + len(graph.lowered_values)
    role = "constant" if ref.constant is not None else "workspace"
    graph.lowered_values.append(Value(graph, ref.vid, "", ref.shape, ref.dtype, graph.device, role, None if role == "constant" else node.index))
    if ref.constant is not None:
        graph.lowered_constants[ref.vid] = ref.constant
    if ref.alias is not None:
        graph.aliases[ref.vid] = _vid(ref.alias)


def _vid(ref: Ref) -> int:
    assert ref.vid is not None
    return ref.vid


def _insist_on_versions(graph: GraphData) -> None:
    """Checks that no op reads a parameter's old content after its update, which overwrites it."""
    newest: dict[int, tuple[int, Node]] = {}  # First vid to the current version, and the node that wrote it.
    base: dict[int, int] = {}  # A reshape to the value whose storage it shares.
    for node in graph.nodes:
        for given in node.inputs:
            vid = base.get(given, given)
            root = graph.versions.get(vid, vid)
            if root in newest and newest[root][0] != vid:
                by = newest[root][1]
                raise GraphError(f"op {node.index}, {node.kind}, reads %{given}, an old version of '{graph.values[root].name}', after op {by.index}, "
                                 f"{by.kind}, has updated it; read graph.latest('{graph.values[root].name}'), or copy_saved it before")  # fmt: skip
        if node.kind == "reshape":
            base[node.outputs[0]] = base.get(node.inputs[0], node.inputs[0])
        for vid in node.outputs:
            if vid in graph.versions:
                newest[graph.versions[vid]] = (vid, node)


def lowered_text(lowered: list[dict[str, Any]], graph: GraphData | None = None) -> str:
    """Returns one line for each call: its number, op, inputs and outputs, and the attributes that differ from the default."""
    lines = []
    for index, one in enumerate(lowered):
        told = [f"{name}={value}" for name, value in one["attrs"].items() if value != fields(one["op"]).get(name)]
        left, right = (", ".join(f"%{vid}" for vid in one[side]) for side in ("inputs", "outputs"))
        lines.append(" ".join([str(index), one["op"], f"({left})", "->", f"({right})", *told]))
    return "\n".join(lines) + "\n" if lines else ""
