"""Fuzzing on a cluster: ranges of FuzzOp, merged in the order of their cases."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gpuemu import arguments
from gpuemu.client import records
from gpuemu.client.progress import Progress
from gpuemu.cluster.head import Head, ops_of
from gpuemu.cluster.opening import check, opened, teller
from gpuemu.cluster.ordered import OrderedSource
from gpuemu.cluster.project import project_file
from gpuemu.cluster.ranges import FIRST_FOLLOWING, Range, chunks, epoch_of, epochs
from gpuemu.cluster.runs import Node
from gpuemu.cluster.searching import Search
from gpuemu.errors import IncompleteError, OpNotFoundError, of_reply

BROKEN_AFTER = 32  # A run whose first cases, this many, could all not be run is ended.
FAILURES_MAX, WARNINGS_MAX = 1000, 4  # Most failures and warnings that are listed, as by a daemon.
_RUNNABLE = ("kernel", "script_based")


@dataclass
class ClusterFuzzResults(records.FuzzResults):
    """FuzzResults, with the nodes that ran the cases."""

    nodes: list[Node] = field(default_factory=list)
    chunks_redone: int = 0


@dataclass(frozen=True)
class FuzzWish:
    """The options for fuzzing each op."""

    iterations: int
    seed: int
    guided: bool = True
    chunk: int = 256
    fail_fast: bool = False
    beside: Mapping[str, Any] = field(default_factory=dict)  # More members of FuzzOp.


class FuzzSource(OrderedSource[Range | None]):
    """The run of one op; the piece that replays the corpus has the key None. `put` stores a value in Ray and returns a
    reference."""

    def __init__(self, op: str, wish: FuzzWish, head: Head, put: Callable[[Any], Any] = lambda value: value) -> None:
        super().__init__()
        self.op, self.wish, self.head, self.put = op, wish, head, put
        self.start = head.corpus(op) if wish.guided else []
        self.search = Search()
        self.results: dict[str, Any] = {"type": "FuzzResults", "seed": wish.seed, "total": 0, "passed": 0, "failed": 0, "failures": [],
                                        "warned": 0, "warnings": []}  # fmt: skip
        self.error: dict[str, Any] | None = None
        self.replays_failed = self.complete = 0
        self._parts: dict[str, list[Any]] = {"proofs": [], "reports": [], "notes": []}
        self._epochs = list(epochs(wish.iterations))
        self._made = 0  # Epochs for which pieces were made.
        self._corpora: dict[int, Any] = {}  # The corpus for later epochs, by the last epoch whose cases it includes.
        self._replay_pieces = 0

    @property
    def cases(self) -> int:
        """Number of cases of the whole run."""
        return self.wish.iterations + len(self.start)

    # --- pieces

    def _is_all(self) -> bool:
        return self._made == len(self._epochs)

    def _request(self, cases: Range) -> dict[str, Any]:
        return {"type": "FuzzOp", "op_name": self.op, "config": {"iterations": cases.count, "seed": self.wish.seed}, "iterations": cases.count,
                "fail_fast": self.wish.fail_fast, "guided": self.wish.guided, "first_case": cases.first, "results": True,
                **self.wish.beside}  # fmt: skip

    def _make(self, actors: int) -> None:
        if not self._pieces and self.start:
            for part in chunks(Range(0, len(self.start)), self.wish.chunk, actors):
                self._add(f"corpus {part}", self._request(Range(0, 0)), None, {"corpus": self.start[part.first : part.last]})
            self._replay_pieces = len(self._pieces)
        if self._is_all() or not self._may_begin(self._made):
            return
        shared = None
        if self.wish.guided:
            shared = self._corpora.get(self._made - FIRST_FOLLOWING, {"corpus": []})
        for part in chunks(self._epochs[self._made], self.wish.chunk, actors):
            self._add(f"chunk {part}", self._request(part), part, shared)
        self._made += 1

    def _may_begin(self, epoch: int) -> bool:
        """True if all cases that this epoch builds on are merged."""
        if not self.wish.guided or epoch < FIRST_FOLLOWING:
            return True
        if self.merged > self._replay_pieces and not self.search.counted:
            return True  # The device does not count coverage, so no epoch builds on another.
        return self.complete >= self._epochs[epoch - FIRST_FOLLOWING].last

    # --- results

    def _merge(self, key: Range | None, reply: dict[str, Any]) -> None:
        if reply.get("type") == "Error":
            self._failed(key, reply)
        else:
            self._count(key, reply)
        if key is not None:
            self.complete = key.first + reply.get("cases_complete", key.count)
            self._end_epoch(key)
        self._ended = self._ended or (self.wish.fail_fast and self.results["failed"] > 0)

    def _failed(self, cases: Range | None, reply: dict[str, Any]) -> None:
        """Records the error of a piece whose cases could not run. If no case could run so far, none will."""
        self.error = self.error or reply
        is_of_op = reply.get("code") in ("PtxParseError", "ReferenceScriptFailed")
        tried = 0 if cases is None else cases.last
        self._ended = not is_of_op or (self.results["total"] == 0 and tried >= BROKEN_AFTER)

    def _count(self, cases: Range | None, reply: dict[str, Any]) -> None:
        results = self.results
        for name in ("total", "passed", "failed", "warned"):
            results[name] += reply.get(name, 0)
        for name, most in (("failures", FAILURES_MAX), ("warnings", WARNINGS_MAX)):
            results[name] = (results[name] + reply.get(name, []))[:most]
        for name, parts in self._parts.items():
            parts += [one for one in reply.get(name, []) if name != "notes" or one not in parts]
        if reply.get("error") and self.error is None:
            self.error = {"type": "Error", "code": "PtxParseError", "message": reply["error"]}
        self.replays_failed += reply.get("failed", 0) if cases is None else 0
        self.search.add(reply.get("search"))
        self.head.store(reply.get("results", []))

    def _end_epoch(self, cases: Range) -> None:
        epoch = epoch_of(cases.first)
        if not self.wish.guided or cases.last != self._epochs[epoch].last:
            return
        self.search.end_epoch()
        self._corpora = {one: corpus for one, corpus in self._corpora.items() if one + 1 >= epoch}
        self._corpora[epoch] = self.put({"corpus": list(self.search.entries)})

    def finish(self, ended: str) -> dict[str, Any]:
        """Returns the reply of the run; `ended`: why it ended early, "" if it did not."""
        if not self.wish.guided:  # Cases are independent of each other.
            self._merge_all()
        self.head.stored()
        if self.error is None and not ended and self.results["total"] == 0:  # The same error as for a run on one daemon.
            self.error = {"type": "Error", "code": "InvalidRequest", "message": f"op '{self.op}': no kernel supports any of its cases: look at "
                          "`supports` and the dims"}  # fmt: skip
        if self.error is not None and self.results["total"] == 0:
            return self.error
        guided = self.search.counted
        finished = self.head.finish(
            "FinishFuzz", "FuzzFinished", op_name=self.op, failures=self.results["failures"], warnings=self.results["warnings"],
            proofs=self._parts["proofs"], reports=self._parts["reports"], start=self.start if guided else [],
            found=self.search.entries if guided else None, keep=guided and self._saw_corpus(),
            **{name: value for name, value in self.wish.beside.items() if name in ("max_elements", "strict")},
        )  # fmt: skip
        told = {"warned": self.results["warned"], "warnings": finished.get("warnings"), "proofs": finished.get("proofs"),
                "notes": [*self._parts["notes"], *finished.get("notes", [])]}  # fmt: skip
        results = {**self.results, "failures": finished["failures"]}
        for name, value in told.items():  # Like a daemon, leaves out empty members.
            results.pop(name, None)
            results |= {name: value} if value else {}
        if self.error is not None:
            results["error"] = self.error["message"]
        if guided:
            epochs = epoch_of(self.complete - 1) + 1 if self.complete else 0
            results["search"] = self.search.report(finished, epochs)
            if self.complete < self.wish.iterations:
                results["cases_complete"] = self.complete
        if ended:
            results["incomplete"] = ended
        return results

    def _saw_corpus(self) -> bool:
        return self.merged >= self._replay_pieces and self.replays_failed == 0


def _together(all_results: list[ClusterFuzzResults]) -> ClusterFuzzResults:
    """Adds up the results of several ops, without the coverage of each op's search."""
    if len(all_results) == 1:
        return all_results[0]
    sum_ = ClusterFuzzResults(seed=all_results[0].seed)
    for one in all_results:
        for name in ("total", "passed", "failed", "warned", "chunks_redone"):
            setattr(sum_, name, getattr(sum_, name) + getattr(one, name))
        for name in ("failures", "proofs", "notes", "warnings", "nodes"):
            getattr(sum_, name).extend(getattr(one, name))
        sum_.error, sum_.incomplete = sum_.error or one.error, sum_.incomplete or one.incomplete
    return sum_


def results_of(reply: dict[str, Any], nodes: list[Node], redone: int) -> ClusterFuzzResults:
    """Converts a reply to results. Raises the exception of an Error reply, and IncompleteError with the partial results."""
    if reply["type"] == "Error":
        raise of_reply(reply.get("code", ""), reply.get("message", "Unknown error"))
    found = ClusterFuzzResults.from_dict({name: value for name, value in reply.items() if name not in ("nodes", "chunks_redone")})
    assert isinstance(found, ClusterFuzzResults)
    found.nodes, found.chunks_redone = nodes, redone
    if found.incomplete:
        raise IncompleteError(found.incomplete, found)
    return found


def fuzz(project: str | os.PathLike[str] = ".", op: str | None = None, iterations: int = 100, seed: int | None = None, guided: bool = True,
         address: str = "auto", chunk: int = 256, resources: Mapping[str, float] | None = None,
         on_progress: Progress | None = None) -> ClusterFuzzResults:  # fmt: skip
    """Does the work of `gpuemu fuzz OP --cluster ADDRESS`: failures, their order, seeds, corpus and totals equal those of a run
    on this machine, for any number of nodes. project: a folder with a gpuemu.toml, or its path. op None: runs every op that a
    daemon can run, one after the other, and adds up the results. address: "auto", "HOST:PORT", "ray://HOST:PORT" or "local:N".
    chunk: cases sent to a node at a time. resources: what each process reserves of the cluster in addition to its core or GPU.
    on_progress: is called with the progress.
    Raises ImportError without the package ray, ConnectionError if there is no cluster, VersionMismatchError, and IncompleteError
    with `result` if cases were lost three times."""
    check(address, resources)
    file = project_file(project)
    known = ops_of(file)
    runnable = [one["name"] for one in known if one["execution_mode"] in _RUNNABLE]
    if op is not None and op not in [one["name"] for one in known]:
        raise OpNotFoundError(f"no op '{op}' in {file}; it has: {', '.join(one['name'] for one in known)}")
    ops = runnable if op is None else [op]
    if not ops:
        raise OpNotFoundError(f"no op with a kernel or an op script in {file}; add one")
    count, most = arguments.whole(iterations, "iterations", 1), arguments.whole(chunk, "chunk", 1)
    found = []
    with Head(file) as head, opened(file, head, address, resources) as cluster:
        wish = FuzzWish(count, head.seed() if seed is None else arguments.bits64(seed), guided, most)
        for name in ops:
            source = FuzzSource(name, wish, head, cluster.put)
            ended = cluster.run(source, teller(on_progress, source))
            found.append(results_of(source.finish(ended), cluster.take_nodes(), cluster.take_redone()))
            if cluster.interrupted:
                raise KeyboardInterrupt
    return _together(found)
