"""Tests on a cluster: divides the cases of every op and dtype into ranges of RunTests."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpuemu import arguments
from gpuemu.client import records
from gpuemu.client.progress import Progress
from gpuemu.cluster.head import Head, ops_of
from gpuemu.cluster.opening import check, opened, teller
from gpuemu.cluster.ordered import OrderedSource
from gpuemu.cluster.project import project_file
from gpuemu.cluster.ranges import Range, chunks, epochs
from gpuemu.cluster.runs import Node
from gpuemu.errors import IncompleteError, InvalidRequestError, OpNotFoundError, of_reply

_BY_A_DAEMON = ("kernel", "script_based")
Group = tuple[str, str]  # An op and a dtype.


@dataclass
class ClusterTestReport(records.TestReport):
    """TestReport, with the nodes that ran the cases."""

    __test__ = False  # Keeps pytest from collecting the class.

    nodes: list[Node] = field(default_factory=list)
    chunks_redone: int = 0


@dataclass(frozen=True)
class TestWish:
    """The options of a test run: cases of each op and dtype."""

    __test__ = False
    groups: Sequence[Group]
    cases: int
    seed: int
    alone: frozenset[str] = frozenset()  # Ops whose cases no daemon runs.
    chunk: int = 256
    fail_fast: bool = False
    beside: Mapping[str, Any] = field(default_factory=dict)  # More members of RunTests.


def groups_of(known: Sequence[Mapping[str, Any]], ops: Sequence[str], dtypes: Sequence[str]) -> list[Group]:
    """Returns the ops and dtypes with these names (empty lists: all), in the order of gpuemu.toml. Raises OpNotFoundError and
    InvalidRequestError."""
    names = [one["name"] for one in known]
    for op in ops:
        if op not in names:
            raise OpNotFoundError(f"no op '{op}'; there are: {', '.join(names)}")
    groups = []
    for one in known:
        has = [dtype for dtype in one["dtypes"] if not dtypes or dtype in dtypes]
        if one["name"] in ops and not has:
            raise InvalidRequestError(f"op '{one['name']}' has none of the dtypes {' '.join(dtypes)}; it has: {' '.join(one['dtypes'])}")
        groups += [(one["name"], dtype) for dtype in has if not ops or one["name"] in ops]
    if not groups:
        raise InvalidRequestError(f"no op has one of the dtypes {' '.join(dtypes)}" if dtypes else "the project has no ops")
    return groups


class TestSource(OrderedSource[tuple[Group, Range]]):
    """All ops of one run."""

    __test__ = False  # Keeps pytest from collecting the class.

    def __init__(self, wish: TestWish, head: Head) -> None:
        super().__init__()
        self.wish, self.head = wish, head
        self.results: dict[str, Any] = {"total": 0, "failed": 0}
        self.error: dict[str, Any] | None = None
        self._reports: list[dict[str, Any]] = []
        self._left = dict.fromkeys(wish.groups, wish.cases)  # Number of cases that have no result yet.
        self._unmade = [(group, part) for group in wish.groups for part in self._parts(group)]

    @property
    def cases(self) -> int:
        return self.wish.cases * sum(op not in self.wish.alone for op, _ in self.wish.groups)

    def _parts(self, group: Group) -> list[Range]:
        whole = Range(0, self.wish.cases)
        return [whole] if group[0] in self.wish.alone else list(epochs(whole.count))

    def _is_all(self) -> bool:
        return not self._unmade

    def _make(self, actors: int) -> None:
        if not self._unmade:
            return
        (op, dtype), whole = self._unmade.pop(0)
        parts = [whole] if op in self.wish.alone else chunks(whole, self.wish.chunk, actors)
        for part in parts:
            request = {"type": "RunTests", "ops": [op], "dtypes": [dtype], "cases": part.count, "first_case": part.first,
                       "seed": self.wish.seed, "fail_fast": self.wish.fail_fast, "results": True, **self.wish.beside}  # fmt: skip
            self._add(f"{op} {dtype}, chunk {part}", request, ((op, dtype), part))

    def _merge(self, key: tuple[Group, Range], reply: dict[str, Any]) -> None:
        if reply.get("type") == "Error":
            self.error, self._ended = reply, True
            return
        group, part = key
        self._left[group] -= part.count
        for name in ("total", "failed"):
            self.results[name] += reply[name]
        self._reports += reply["ops"]
        self.head.store(reply.get("results", []))
        self._ended = self.wish.fail_fast and self.results["failed"] > 0

    def finish(self, ended: str) -> dict[str, Any]:
        """Returns the reply of the run; `ended`: why it ended early, "" if it did not."""
        if not self.wish.fail_fast:
            self._merge_all()
        self.head.stored()
        if self.error is not None:
            return self.error
        empty = {"cases": 0, "passed": 0, "failed": 0, "failures": [], "max_diff": 0.0, "worst_error_use": 0.0}
        unknown = [{**empty, "op_name": op, "dtype": dtype, "not_run": left} for (op, dtype), left in self._left.items() if left]
        beside = {name: value for name, value in self.wish.beside.items() if name in ("max_elements", "strict")}
        report = self.head.finish("FinishTests", "TestReport", seed=self.wish.seed, reports=[*self._reports, *unknown],
                                  cancelled=bool(ended), **beside)  # fmt: skip
        return {**report, **({"incomplete": ended} if ended else {})}


def _report_of(reply: dict[str, Any], nodes: list[Node], redone: int) -> ClusterTestReport:
    if reply["type"] == "Error":
        raise of_reply(reply.get("code", ""), reply.get("message", "Unknown error"))
    found = ClusterTestReport.from_dict(reply)
    assert isinstance(found, ClusterTestReport)
    found.nodes, found.chunks_redone = nodes, redone
    if found.incomplete:
        raise IncompleteError(found.incomplete, found)
    return found


def test(project: str | os.PathLike[str] = ".", ops: Sequence[str] = (), *, cases: int = 0, seed: int | None = None,
         dtypes: Sequence[str] = (), strategies: Sequence[str] = (), address: str = "auto", chunk: int = 256,
         resources: Mapping[str, float] | None = None, on_progress: Progress | None = None) -> ClusterTestReport:  # fmt: skip
    """Does the work of `gpuemu test OPS --cluster ADDRESS`: the verdicts, failures and counts equal those of a run on this
    machine, for any number of nodes. ops, dtypes, strategies: runs only these; cases: of each op and dtype, 0 for
    validation.cases. The other arguments and the exceptions are those of fuzz()."""
    check(address, resources)
    file = project_file(project)
    known = ops_of(file)
    groups, most = groups_of(known, ops, dtypes), arguments.whole(chunk, "chunk", 1)
    alone = frozenset(one["name"] for one in known if one["execution_mode"] not in _BY_A_DAEMON)
    with Head(file) as head, opened(file, head, address, resources) as cluster:
        count = arguments.whole(cases, "cases", 0) or int(head.client.settings()["validation.cases"])
        base = head.seed() if seed is None else arguments.bits64(seed)
        source = TestSource(TestWish(groups, count, base, alone, most, beside={"strategies": list(strategies)}), head)
        ended = cluster.run(source, teller(on_progress, source))
        report = _report_of(source.finish(ended), cluster.take_nodes(), cluster.take_redone())
        if cluster.interrupted:
            raise KeyboardInterrupt
        return report


