"""The program behind `gpuemu fuzz --cluster` and `gpuemu test --cluster`. It writes lines for cli/cluster, each a word and its
arguments; output of libraries goes to standard error. It ends with the complete results at SIGINT, and when its standard input
ends."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from gpuemu.client.words import counted
from gpuemu.cluster.fuzzing import FuzzSource, FuzzWish
from gpuemu.cluster.head import Head, ops_of
from gpuemu.cluster.opening import OpenCluster, check, check_resources, opened
from gpuemu.cluster.runs import Node
from gpuemu.cluster.testing import TestSource, TestWish, groups_of
from gpuemu.errors import ClientError

_DRAW_SECONDS = 0.2


class _Lines:
    """Writes the lines of standard output."""

    def __init__(self, out: TextIO) -> None:
        self.out = out

    def write(self, word: str, text: str = "") -> None:
        print(word, " ".join(text.split("\n")), file=self.out, flush=True)


class _Stop:
    """Set by SIGINT, by SIGTERM, and when the parent process ends."""

    def __init__(self) -> None:
        self.wanted = False
        for one in (signal.SIGINT, signal.SIGTERM):
            signal.signal(one, self._set)
        threading.Thread(target=self._watch, daemon=True).start()

    def _set(self, *_: object) -> None:
        self.wanted = True

    def _watch(self) -> None:
        while os.read(0, 4096):
            pass
        self.wanted = True


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("python -m gpuemu.cluster")
    parser.add_argument("command", choices=("fuzz", "test"))
    for name in ("project", "socket", "address"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--resources", default="{}")
    for name in ("op", "dtype", "strategy"):
        parser.add_argument(f"--{name}", action="append", default=[])
    for name in ("iterations", "cases", "seed", "max-elements"):
        parser.add_argument(f"--{name}", type=int)
    for name in ("unguided", "fail-fast", "strict", "progress"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args(words)


def _resources(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise ValueError(f"--cluster-resources is no JSON: {problem}") from problem
    if not isinstance(found, dict):
        raise ValueError("--cluster-resources: expected an object of JSON, as in {\"a100\": 1}")
    try:
        return dict(check_resources(found))
    except ValueError as problem:
        raise ValueError(f"--cluster-resources: {problem}") from problem


def _beside(given: argparse.Namespace) -> dict[str, Any]:
    wanted = {"max_elements": given.max_elements, "strict": given.strict or None}
    return {name: value for name, value in wanted.items() if value is not None}


def _bar(given: argparse.Namespace, lines: _Lines, what: str, source: Any) -> Callable[[int], object]:
    began, drawn = time.monotonic(), 0.0

    def tell(done: int) -> None:
        nonlocal drawn
        now = time.monotonic()
        if not given.progress or now < drawn + _DRAW_SECONDS:
            return
        drawn = now
        failing = f", {source.results['failed']} failing" if source.results["failed"] else ""
        lines.write("progress", f"{what} {done}/{source.cases} {done / max(now - began, 1e-9):.0f}/s{failing}")

    return tell


def _told(nodes: list[Node], redone: int) -> str:
    each = "; ".join(f"{one.host}/{one.node} {counted(one.cases, 'case')} on {one.actors}" for one in nodes)
    again = f"; {counted(redone, 'chunk')} done again" if redone else ""
    return f"ran on {counted(len(nodes), 'node')}: {each}{again}"


class _Command:
    """One command on an open cluster."""

    def __init__(self, given: argparse.Namespace, head: Head, cluster: OpenCluster, lines: _Lines) -> None:
        self.given, self.head, self.cluster, self.lines = given, head, cluster, lines
        self.seed = head.seed() if given.seed is None else given.seed

    def _run(self, source: Any, what: str) -> bool:
        """Runs one source. Returns False if nothing more is to be run."""
        ended = self.cluster.run(source, _bar(self.given, self.lines, what, source))
        if ended:
            self.lines.write("ended", "interrupted" if self.cluster.interrupted else ended)
        reply = source.finish(ended)
        nodes, redone = self.cluster.take_nodes(), self.cluster.take_redone()
        if reply["type"] != "Error":
            reply = {**reply, "nodes": [dataclasses.asdict(one) for one in nodes], "chunks_redone": redone}
        self.lines.write("result", json.dumps(reply))
        self.lines.write("note", _told(nodes, redone))
        failed = self.given.fail_fast and source.results["failed"] > 0
        return not ended and not failed

    def fuzz(self) -> None:
        given = self.given
        for op in given.op:
            wish = FuzzWish(given.iterations, self.seed, not given.unguided, fail_fast=given.fail_fast, beside=_beside(given))
            if not self._run(FuzzSource(op, wish, self.head, self.cluster.put), f"fuzz {op}"):
                return

    def test(self, file: pathlib.Path) -> None:
        given, known = self.given, ops_of(file)
        alone = frozenset(one["name"] for one in known if one["execution_mode"] not in ("kernel", "script_based"))
        beside = {**_beside(given), "strategies": given.strategy}
        groups = groups_of(known, given.op, given.dtype)
        self._run(TestSource(TestWish(groups, given.cases, self.seed, alone, fail_fast=given.fail_fast, beside=beside), self.head), "test")


def _serve(given: argparse.Namespace, lines: _Lines, stop: _Stop) -> None:
    resources = _resources(given.resources)
    check(given.address, resources)
    file = pathlib.Path(given.project)
    with Head(file, given.socket) as head, opened(file, head, given.address, resources, lambda: stop.wanted) as cluster:
        command = _Command(given, head, cluster, lines)
        if given.command == "fuzz":
            command.fuzz()
        else:
            command.test(file)


def main(words: Sequence[str]) -> None:
    lines, given = _Lines(os.fdopen(os.dup(1), "w", encoding="utf-8")), _arguments(words)
    os.dup2(2, 1)  # Output of libraries goes to standard error.
    try:
        _serve(given, lines, _Stop())
    except ValueError as problem:  # InvalidRequestError is a ValueError.
        lines.write("usage", str(problem))
    except (ClientError, ImportError, OSError) as problem:
        lines.write("failed", str(problem))
    else:
        lines.write("done")


if __name__ == "__main__":
    main(sys.argv[1:])
