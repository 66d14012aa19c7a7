"""Which op of a program went wrong, where only the wait behind it says that one did."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from gpuemu.errors import DeviceError, KernelError
import gpuemu.runtime.registrations as registrations
from gpuemu.program.executor import told
from gpuemu.program.values import GraphData


class LastRun:
    """The last run of a place, with its sources as long as somebody else keeps them."""

    def __init__(self, program: Any, graph: GraphData, lowered: list[dict[str, Any]], plan: Any, sources: Mapping[int, Any]) -> None:
        self.bound = program, graph, lowered, plan
        self.sources = {vid: weakref.ref(held) for vid, held in sources.items()}

    def named(self, place: Any, problem: KernelError) -> KernelError:
        """The fault with its op and the line that wrote it, where they can be found. REQUIRES: the lock of tapes is held."""
        _, graph, lowered, _ = self.bound
        sources = {vid: held() for vid, held in self.sources.items()}
        at = None if None in sources.values() else faulting_op(place, (*self.bound, sources))
        if at is None:
            with_entry = [index for index, one in enumerate(lowered) if any(_has_entry(one["op"], found.entry) for found in problem.findings)]
            at = with_entry[0] if len(with_entry) == 1 else None
        return problem if at is None else told(problem, lowered[at], at, graph.nodes[lowered[at]["node"]].where)


def faulting_op(place: Any, bound: tuple[Any, ...]) -> int | None:
    """The number of the lowered op at which a program goes wrong on a device of this process, found by waiting for each; None if it does
    not go wrong again."""
    at, device = 0, place.device

    def each(index: int) -> None:
        nonlocal at
        device.synchronize()
        at = index

    known = list(device._told)
    try:
        place.run(*bound, each)
        device.synchronize()
    except KernelError:
        return at
    except DeviceError:
        pass  # The device is lost, or closed meanwhile.
    finally:
        device._told = known  # What the caller asks findings() for is told once.
    return None


def _has_entry(op: str, entry: str) -> bool:
    """Whether a kernel of the op has an entry of that name. Those that come with gpuemu begin with the name of their op."""
    mine = [one["entry"].partition("{")[0] for each in registrations.of_process() if each.op == op and not each.is_op for one in each.described["launches"]]
    return bool(entry) and (entry == op or entry.startswith(f"{op}_") or any(entry.startswith(one) for one in mine if one))
