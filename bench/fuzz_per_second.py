#!/usr/bin/env python3
"""Cases per second of `gpuemu fuzz` on small tensors, compared with a fresh python3 for every script,
and the idle time of cores.

  fuzz_per_second.py --bin FOLDER [--cases N] [--baseline-cases N] [--rounds N]

At most 16,384 elements per tensor. One case of the baseline is described in tool.py. Rates on the wall
clock depend on other load; the processor time of all processes hardly does. `idle` is the share of the
cores' time that nothing used while gpuemu ran, of the time that other programs left. `wanted` is the
share that its threads ran on or waited for (/proc/PID/task/TID/schedstat), which other programs do not
hide: below 100 % cores would have been idle. Everything runs in a private folder that is removed at the
end.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
import typing

from tool import FreshProcesses, Gpuemu, children_seconds, correct_examples, tree_seconds

DIMS = {"vector_add": {"n": (1, 16384)}, "softmax": {"rows": (1, 16), "cols": (1, 1024)}}
INPUTS = {"vector_add": {"a": "n", "b": "n"}, "softmax": {"x": "rows cols"}}
CHECKS = {"bounds": ["memory"], "all checks": None}
SEARCHES = {"": [], ", unguided": ["--unguided"]}


class Timing(typing.NamedTuple):
    """Cases per second on the wall clock, processor seconds of one case, and the shares of the cores:
    idle, wanted."""

    rate: float
    used: float
    idle: float = 0.0
    wanted: float = 0.0


def idle_seconds():
    """Returns the idle time of all cores since the machine started."""
    fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
    return sum(map(int, fields[3:5])) / os.sysconf("SC_CLK_TCK")


def wanted_seconds(process):
    """Returns by thread the time that the threads of a process and of its descendants ran or waited for
    a core."""
    seconds = {}
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        try:
            ran, waited, _ = map(int, (task / "schedstat").read_text().split())
            seconds[task.name] = (ran + waited) / 1e9
            for child in (task / "children").read_text().split():
                seconds.update(wanted_seconds(child))
        except (FileNotFoundError, ProcessLookupError):
            continue  # The thread has ended.
    return seconds


def baseline(op, cases, folder):
    fresh = FreshProcesses(folder)
    fresh.run(op, DIMS[op], INPUTS[op])  # Brings Python and numpy into the page cache.
    used, start = children_seconds(), time.perf_counter()
    for _ in range(cases):
        fresh.run(op, DIMS[op], INPUTS[op])
    return Timing(cases / (time.perf_counter() - start), (children_seconds() - used) / cases)


def timed_fuzz(tool, op, cases, seed, options):
    daemon = tool.daemon() or sys.exit("the daemon does not run")
    before, ours, idle = tree_seconds(daemon), children_seconds(), idle_seconds()
    wanted = wanted_seconds(daemon)
    start = time.perf_counter()
    done = tool.run("fuzz", "--op", op, "-i", str(cases), "--seed", str(seed), "--format", "json", *options)
    seconds = time.perf_counter() - start
    idle = idle_seconds() - idle
    used = tree_seconds(daemon) - before + children_seconds() - ours
    wanted = sum(now - wanted.get(thread, 0) for thread, now in wanted_seconds(daemon).items())
    results = json.loads(done.stdout) if done.returncode == 0 else None
    if results is None or results["failed"] != 0 or results["total"] < cases:
        sys.exit(f"gpuemu fuzz ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    wanted /= seconds * len(os.sched_getaffinity(0))
    return Timing(results["total"] / seconds, used / results["total"], idle / (idle + used), wanted)


def measure(options, folder):
    """Returns the timings of each row, by (op, row)."""
    rows = {}
    for checks, sanitize in CHECKS.items():
        home = folder / checks.replace(" ", "_")
        home.mkdir()
        correct_examples(home / "project", DIMS, sanitize)
        tool = Gpuemu(options.bin, home)
        try:
            tool.run("fuzz", "-i", "200")  # Compiles the kernels and starts everything.
            for number in range(options.rounds):
                for op in DIMS:
                    rows.setdefault((op, "fresh processes"), []).append(
                        baseline(op, options.baseline_cases, home))
                    for search, words in SEARCHES.items():
                        rows.setdefault((op, checks + search), []).append(
                            timed_fuzz(tool, op, options.cases, number, words))
        finally:
            tool.stop()
    return rows


def print_table(rows):
    cores = len(os.sched_getaffinity(0))
    print(f"{'':12}{'':22}{'cases/s':>9}{'ratio':>7}{'CPU ms/case':>13}{'ratio':>7}{'cores/CPU':>11}{'idle':>7}{'wanted':>8}")
    for (op, row), timings in rows.items():
        rate, used, idle, wanted = (sorted(column)[len(timings) // 2] for column in zip(*timings))
        base = rows[op, "fresh processes"]
        base_rate, base_used, *_ = (sorted(column)[len(base) // 2] for column in zip(*base))
        told = f"{idle:>7.0%}{wanted:>8.0%}" if row != "fresh processes" else ""
        print(f"{op:12}{row:22}{rate:>9.1f}{rate / base_rate:>7.0f}{used * 1e3:>13.3f}{base_used / used:>7.0f}"
              f"{cores / used:>11.0f}{told}")
    print(f"cores/CPU: cases per second if all {cores} cores did nothing else.")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of gpuemu and gpuemu-daemon")
    parser.add_argument("--cases", type=int, default=4000, help="of each op in each row")
    parser.add_argument("--baseline-cases", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    random.seed(1)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-bench-"))
    try:
        rows = measure(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_table(rows)


main()
