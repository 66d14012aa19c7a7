"""Plans the storage of each value of a lowered program: its role, its lifetime, its offset in the workspace."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gpuemu.program.errors import BindError
from gpuemu.program.specs import Spec
from gpuemu.program.values import GraphData

Lifetime = tuple[int, int]
ENOUGH = 1.25  # Packings are tried until one is within this factor of the lower bound.


class Slot(NamedTuple):
    """A range of bytes of the workspace."""

    offset: int
    nbytes: int


@dataclass
class BindingPlan:
    """roles: of every value; aliases: a value to the one whose storage it shares; lifetimes: first and last op of values in the
    workspace; slots: their places. workspace_bytes_unshared: the size without reuse; peak_live_bytes: the largest sum of bytes
    alive at one op, a lower bound for every packing."""

    specs: dict[int, Spec] = field(repr=False)
    roles: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    aliases: dict[int, int] = field(default_factory=dict)
    lifetimes: dict[int, Lifetime] = field(default_factory=dict)
    slots: dict[int, Slot] = field(default_factory=dict)
    alignment: int = 256
    workspace_bytes: int = 0
    workspace_bytes_unshared: int = 0
    peak_live_bytes: int = 0
    scratch_bytes: int = 0

    def storage(self, vid: int) -> int:
        """Returns the value whose storage a value uses."""
        while vid in self.aliases:
            vid = self.aliases[vid]
        return vid

    def text(self) -> str:
        """Returns one line for each value."""
        lines = []
        for vid, role in self.roles.items():
            if vid in self.aliases:
                where = f"in %{self.storage(vid)}"
            elif vid in self.slots:
                (offset, size), (first, last) = self.slots[vid], self.lifetimes[vid]
                where = f"[{offset}, {offset + size}) ops {first}..{last}"
            else:
                where = f"{self.specs[vid].nbytes} bytes {self.names.get(vid, '')}".rstrip()
            lines.append(f"%{vid} {role} {where}")
        return "\n".join([*lines, f"workspace {self.workspace_bytes} bytes, {self.workspace_bytes_unshared} without reuse, "
                                  f"{self.peak_live_bytes} alive at once"]) + "\n"  # fmt: skip

    def __str__(self) -> str:
        return self.text()

    def to_json(self) -> str:
        """Returns the whole plan with sorted keys."""
        whole = {"roles": self.roles, "aliases": self.aliases, "lifetimes": self.lifetimes, "slots": {vid: list(one) for vid, one in self.slots.items()},
                 "alignment": self.alignment, "workspace_bytes": self.workspace_bytes, "workspace_bytes_unshared": self.workspace_bytes_unshared,
                 "peak_live_bytes": self.peak_live_bytes, "scratch_bytes": self.scratch_bytes}  # fmt: skip
        return json.dumps(whole, sort_keys=True)


def bind(graph: GraphData, lowered: list[dict[str, Any]], *, reuse: bool = True, alignment: int = 256) -> BindingPlan:
    """Plans a graph and its last lowering."""
    if not isinstance(lowered, (list, tuple)) or not all(isinstance(one, Mapping) and {"inputs", "outputs"} <= one.keys() for one in lowered):
        raise TypeError("lowered is not what lower() of the graph returns: a list of dicts with op, inputs, outputs, attrs and node")
    if isinstance(alignment, bool) or not isinstance(alignment, int):
        raise TypeError(f"alignment is {alignment!r}, expected a power of two")
    if alignment < 1 or alignment & (alignment - 1):
        raise BindError(f"alignment is {alignment}, expected a power of two")
    values = [*graph.values, *graph.lowered_values]
    plan = BindingPlan({one.vid: one.spec for one in values}, aliases=dict(graph.aliases), alignment=alignment)
    plan.names = {one.vid: one.name for one in values if one.name}
    plan.roles = {one.vid: one.role for one in values}
    for vid in graph.outputs.values():
        plan.roles[plan.storage(vid)] = plan.roles[vid] = "output"
    for vid in plan.aliases:  # A reshape has the role of the value whose storage it shares.
        plan.roles[vid] = plan.roles[plan.storage(vid)]
    written = {vid for one in lowered for vid in one["outputs"]} | {one.vid for one in values if one.producer is None}
    for vid in [vid for vid in plan.roles if plan.storage(vid) not in written]:
        del plan.roles[vid]  # A pass removed its last use.
    plan.lifetimes = _lifetimes(plan, lowered)
    sizes = {vid: plan.specs[vid].nbytes for vid in plan.lifetimes}
    plan.peak_live_bytes = peak(sizes, plan.lifetimes)
    apart = _apart(sizes, alignment)
    offsets = pack(sizes, plan.lifetimes, alignment) if reuse else apart
    plan.slots = {vid: Slot(offsets[vid], sizes[vid]) for vid in sizes}
    plan.workspace_bytes, plan.workspace_bytes_unshared = _end(offsets, sizes), _end(apart, sizes)
    return plan


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


def _lifetimes(plan: BindingPlan, lowered: list[dict[str, Any]]) -> dict[int, Lifetime]:
    """Returns the lifetimes of the roots in the workspace: from the op that writes to the last one that reads, including reads
    through aliases."""
    found: dict[int, Lifetime] = {}
    for index, one in enumerate(lowered):
        for vid in (*one["inputs"], *one["outputs"]):
            root = plan.storage(vid)
            if plan.roles[root] == "workspace":
                found[root] = (found.get(root, (index, index))[0], index)
    return found


def peak(sizes: Mapping[int, int], lifetimes: Mapping[int, Lifetime]) -> int:
    """Returns the largest sum of sizes that are alive at one op."""
    changes: dict[int, int] = {}
    for vid, (first, last) in lifetimes.items():
        changes[first] = changes.get(first, 0) + sizes[vid]
        changes[last + 1] = changes.get(last + 1, 0) - sizes[vid]
    most = alive = 0
    for at in sorted(changes):
        alive += changes[at]
        most = max(most, alive)
    return most


def _end(offsets: Mapping[int, int], sizes: Mapping[int, int]) -> int:
    return max((offsets[vid] + sizes[vid] for vid in offsets), default=0)


def _apart(sizes: Mapping[int, int], alignment: int) -> dict[int, int]:
    offsets, end = {}, 0
    for vid, size in sizes.items():
        offsets[vid], end = end, end + _aligned(size, alignment)
    return offsets


def pack(sizes: Mapping[int, int], lifetimes: Mapping[int, Lifetime], alignment: int) -> dict[int, int]:
    """Returns offsets: tries several orders, placing each value at the lowest offset that is free for its lifetime, and takes the
    best."""
    bound = ENOUGH * peak(sizes, lifetimes)
    length = {vid: last - first + 1 for vid, (first, last) in lifetimes.items()}
    orders = (lambda vid: (-sizes[vid], lifetimes[vid]), lambda vid: (-length[vid], -sizes[vid], vid), lambda vid: (lifetimes[vid], vid),
              lambda vid: (-sizes[vid] * length[vid], vid), lambda vid: (-lifetimes[vid][1], vid))  # fmt: skip
    best: dict[int, int] = {}
    least = -1
    for order in orders:
        offsets = _place(sorted(sizes, key=order), sizes, lifetimes, alignment)
        end = _end(offsets, sizes)
        if least < 0 or end < least:
            best, least = offsets, end
        if least <= bound:
            break
    return best


def _place(order: list[int], sizes: Mapping[int, int], lifetimes: Mapping[int, Lifetime], alignment: int) -> dict[int, int]:
    offsets: dict[int, int] = {}
    placed: list[int] = []
    for vid in order:
        first, last = lifetimes[vid]
        at = 0
        beside = sorted((offsets[one], sizes[one]) for one in placed if lifetimes[one][0] <= last and first <= lifetimes[one][1])
        for offset, size in beside:
            if at + sizes[vid] <= offset:
                break
            at = max(at, _aligned(offset + size, alignment))
        offsets[vid] = at
        placed.append(vid)
    return offsets
