"""Fuses chains of elementwise ops into one op with a generated kernel. The results are bit-identical."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import gpuemu.program.ops.fused as fused
import gpuemu.program.ops.rules as rules
from gpuemu.program.ops.emitter import Emitted, Emitter, Ref
from gpuemu.program.passes.rebuild import Rebuilt, followed, rebuild
from gpuemu.program.values import Node, Value

OPERANDS_MAX = 12  # Operands of one fused kernel: op_call takes 16 inputs and 16 outputs, and registers are few.
PARTS_MAX = 64


@dataclass(eq=False)
class _Group:
    """Ops to fuse into one. `members`: their node numbers in order."""

    members: list[int]
    elements: int
    dtype: str
    parts: int
    inputs: set[int] = field(default_factory=set)

    @property
    def last(self) -> int:
        """The node whose place the fused op takes."""
        return self.members[-1]


def fuse(graph: Any) -> tuple[Any, list[str]]:
    """Fuses chains of ops that have one dtype and size. The bias of a linear op is split off first, so that it can be fused."""
    graph = _split_bias(graph)
    groups = _groups(graph)
    by_member = {member: one for one in groups for member in one.members}
    changes: list[str] = []

    def write(made: Rebuilt, node: Node) -> Sequence[Value] | None:
        group = by_member.get(node.index)
        if group is None:
            return made.copy(node)
        if node.index == group.last:
            changes.append(_write(made, graph, group))
        return None

    return followed(graph, rebuild(graph, write)), changes


def _split_bias(graph: Any) -> Any:
    """Replaces each linear op with a bias by a product and a sum."""

    def write(made: Rebuilt, node: Node) -> Sequence[Value]:
        if node.kind != "linear" or len(node.inputs) != 3:
            return made.copy(node)
        x, w, b = (made[vid] for vid in node.inputs)
        return [made.one(node.where, "op:bias_add", made.one(node.where, "op:gemm", x, w, trans_b=1), b)]

    return rebuild(graph, write)


def _emitted(graph: Any, node: Node) -> tuple[list[Emitted], list[Ref], list[Ref]]:
    """The calls that an op is lowered to, its inputs and its outputs."""
    e = Emitter()
    inputs = [Ref(graph.values[vid].spec, vid) for vid in node.inputs]
    attrs = {name: value for name, value in node.attrs.items() if name != "outputs"}
    return e.ops, inputs, rules.lower(e, node.kind, inputs, attrs, [graph.values[vid].spec for vid in node.outputs])


def _base(ref: Ref) -> Ref:
    while ref.alias is not None:
        ref = ref.alias
    return ref


def _is_number(graph: Any, vid: int) -> bool:
    """True if a value is a constant of one element, which becomes a literal in the kernel."""
    return vid in graph.constants and graph.values[vid].spec.elements == 1


def _is_elementwise(graph: Any, node: Node) -> bool:
    """True if the op is a chain of elementwise calls that all have as many elements as its output."""
    if len(node.outputs) != 1 or node.kind in ("reshape", fused.KIND) or all(_is_number(graph, vid) for vid in node.inputs):
        return False
    value = graph.values[node.outputs[0]]
    calls, inputs, outputs = _emitted(graph, node)
    made = [ref for one in calls for ref in one.outputs]
    if not calls or not fused.elementwise(value.dtype, calls) or _base(outputs[0]) is not made[-1]:
        return False
    bases = [_base(ref) for one in calls for ref in one.inputs]
    if any(base.constant is not None and base.spec.elements != 1 for base in bases):
        return False
    return value.spec.elements > 0 and all(ref.spec.elements == value.spec.elements for ref in made) and not any(
        ref.alias is not None and _base(ref) in inputs and ref.spec.elements != _base(ref).spec.elements for one in calls for ref in one.inputs)


def _groups(graph: Any) -> list[_Group]:
    groups: list[_Group] = []
    of_node: dict[int, _Group] = {}
    for node in graph.nodes:
        if not _is_elementwise(graph, node):
            continue
        value = graph.values[node.outputs[0]]
        group = _Group([node.index], value.spec.elements, value.dtype, len(_emitted(graph, node)[0]), set(node.inputs))
        for vid in dict.fromkeys(node.inputs):
            before = of_node.get(graph.values[vid].producer)
            if before is not None and before is not group and before.last != node.index and _can_join(graph, before, group):
                group = _joined(before, group)
                groups = [one for one in groups if one is not before]
        groups = [one for one in groups if one.last != node.index] + [group]
        for member in group.members:
            of_node[member] = group
    return [one for one in groups if sum(len(_emitted(graph, graph.nodes[member])[0]) for member in one.members) > 1]


def _joined(before: _Group, group: _Group) -> _Group:
    return _Group(sorted({*before.members, *group.members}), group.elements, group.dtype, before.parts + group.parts, before.inputs | group.inputs)


def _can_join(graph: Any, before: _Group, group: _Group) -> bool:
    """True if the ops of `before` can be computed later, in one kernel with `group`."""
    if (before.elements, before.dtype) != (group.elements, group.dtype) or before.parts + group.parts > PARTS_MAX:
        return False
    joined = _joined(before, group)
    members = set(joined.members)
    made = {graph.nodes[member].outputs[0] for member in members}
    if any(graph.values[vid].spec.elements != joined.elements and vid in made for vid in joined.inputs):
        return False
    if len(joined.inputs - made) + len(_results(graph, joined)) > OPERANDS_MAX:
        return False
    roots = {graph.versions.get(vid, vid) for vid in joined.inputs - made}
    for node in graph.nodes[joined.members[0] : joined.last]:
        if node.index not in members and (made & set(node.inputs) or roots & {graph.versions.get(vid, -1) for vid in node.outputs}):
            return False
    return True


def _results(graph: Any, group: _Group) -> list[int]:
    """Vids that the fused op must write: graph outputs, values that other ops read, and values that nothing reads."""
    members = set(group.members)
    made = [graph.values[graph.nodes[member].outputs[0]] for member in group.members]
    return [one.vid for one in made if one.vid in graph.outputs.values() or not one.users or not set(one.users) <= members]


def _write(made: Rebuilt, graph: Any, group: _Group) -> str:
    """Writes the fused op; returns a line that describes the change."""
    results, inputs, parts = _results(graph, group), list[int](), list[Any]()
    part_of: dict[int, int] = {}
    for member in group.members:
        _add_parts(graph, graph.nodes[member], inputs, parts, part_of)
    attrs = {"parts": parts, "results": [part_of[vid] for vid in results], "shapes": [list(graph.values[vid].shape) for vid in results]}
    values = made.apply(graph.nodes[group.last].where, fused.KIND, [made[vid] for vid in inputs], attrs)
    made.at.update(zip(results, values))
    kinds = ", ".join(f"{graph.nodes[member].kind.removeprefix(rules.RAW)} {member}" for member in group.members)
    return f"op {made.graph.nodes[-1].index}: {kinds} in one kernel, {len(inputs)} inputs, {len(results)} outputs"


def _add_parts(graph: Any, node: Node, inputs: list[int], parts: list[Any], part_of: dict[int, int]) -> None:
    calls, _, outputs = _emitted(graph, node)
    number: dict[int, int] = {}

    def operand(ref: Ref) -> list[Any]:
        base = _base(ref)
        if base.constant is not None:
            return ["const", fused.constant_value(base.constant, base.dtype)]
        if id(base) in number:
            return ["part", number[id(base)]]
        assert base.vid is not None
        if base.vid in part_of:
            return ["part", part_of[base.vid]]
        if _is_number(graph, base.vid):
            return ["const", fused.constant_value(graph.constants[base.vid], base.dtype)]
        if base.vid not in inputs:
            inputs.append(base.vid)
        return ["in", inputs.index(base.vid), list(ref.shape)]

    for one in calls:
        part = [one.op, list(one.outputs[0].shape), [operand(ref) for ref in one.inputs]]
        parts.append(part)
        number[id(one.outputs[0])] = len(parts) - 1
    part_of[node.outputs[0]] = number[id(_base(outputs[0]))]
