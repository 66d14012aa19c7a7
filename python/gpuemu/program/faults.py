"""Finds the op of a program that went wrong when only a later wait reports the fault."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from gpuemu.errors import DeviceError, KernelError
import gpuemu.runtime.registrations as registrations
from gpuemu.program.executor import told
from gpuemu.program.values import GraphData
from gpuemu.runtime.calling import ops
from gpuemu.tensors import DTYPES


class LastRun:
    """The last run of a place, with weak references to its sources."""

    def __init__(self, program: Any, graph: GraphData, lowered: list[dict[str, Any]], plan: Any, sources: Mapping[int, Any]) -> None:
        self.bound = program, graph, lowered, plan
        self.sources = {vid: weakref.ref(held) for vid, held in sources.items()}

    def named(self, place: Any, problem: KernelError) -> KernelError:
        """Adds to the fault its op and the line that wrote the op, if they can be found. REQUIRES: the lock of tapes is held."""
        _, graph, lowered, _ = self.bound
        sources = {vid: held() for vid, held in self.sources.items()}
        if None not in sources.values():
            at = faulting_op(place, (*self.bound, sources), problem)
        else:  # The ops cannot run again.
            with_entry = [index for index, one in enumerate(lowered) if any(_has_entry(one["op"], found.entry) for found in problem.findings)]
            at = with_entry[0] if len(with_entry) == 1 else None
        return problem if at is None else told(problem, lowered[at], at, graph.nodes[lowered[at]["node"]].where)


def faulting_op(place: Any, bound: tuple[Any, ...], problem: KernelError) -> int | None:
    """Returns the number of the lowered op that goes wrong on a device of this process as in `problem`, found by running the ops
    again and waiting for each; None if none does. A wait also gets faults of other threads' work, which are in other kernels."""
    at: int | None = None
    device = place.device

    def each(index: int) -> None:
        nonlocal at
        device.synchronize()  # Before the first op, a fault is one of other work.
        at = index

    try:
        with device._hiding_findings():  # The caller's findings() returns each finding only once.
            place.run(*bound, each)
            device.synchronize()
    except KernelError as again:
        entries = {found.entry for found in problem.findings}
        return at if not entries or any(found.entry in entries for found in again.findings) else None
    except DeviceError:
        pass  # The device is lost, or was closed meanwhile.
    return None


def _has_entry(op: str, entry: str) -> bool:
    """True if a kernel of the op has an entry of that name. Entries of built-in kernels begin with the name of their op and end
    with a dtype."""
    patterns = [one["entry"].partition("{") for each in registrations.of_process() if each.op == op and not each.is_op for one in each.described["launches"]]
    if any(entry.startswith(name) if is_open else entry == name for name, is_open, _ in patterns):
        return True
    owner = max((name for name in ops() if entry.startswith(f"{name}_")), key=len, default="")
    return owner == op and entry.rpartition("_")[2] in DTYPES
