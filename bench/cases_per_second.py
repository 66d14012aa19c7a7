#!/usr/bin/env python3
"""Cases per second of `gpuemu test`, compared with tools that start a fresh python3 for every script.

  cases_per_second.py --bin FOLDER [--cases N] [--baseline-cases N] [--rounds N] [--details]

One case of the baseline does what such tools do: one python3 draws the inputs and one computes the
expected output, both with the stdin protocol of docs/reference/protocol.md. In addition to wall-clock
time the table has the processor time of all processes, which other load affects less. Everything runs in
a private folder that is removed at the end.
"""
import argparse
import json
import pathlib
import random
import shutil
import sys
import tempfile
import time
import typing

from tool import FreshProcesses, Gpuemu, children_seconds, correct_examples, tree_seconds

# The examples without a planted fault, at up to 65,536 elements per tensor.
DIMS = {
    "vector_add": {"n": (1, 65536)},
    "gelu": {"n": (1, 65536)},
    "softmax": {"rows": (1, 64), "cols": (1, 1024)},
    "layernorm": {"rows": (1, 64), "cols": (1, 1024)},
    "rmsnorm": {"rows": (1, 64), "cols": (1, 1024)},
    "matmul": {"m": (1, 256), "n": (1, 256), "k": (1, 256)},
    "transpose": {"rows": (1, 256), "cols": (1, 256)},
    "reduce_sum": {"n": (1, 65536)},
}
INPUTS = {
    "vector_add": {"a": "n", "b": "n"},
    "gelu": {"x": "n"},
    "softmax": {"x": "rows cols"},
    "layernorm": {"x": "rows cols", "gamma": "cols", "beta": "cols"},
    "rmsnorm": {"x": "rows cols", "weight": "cols"},
    "matmul": {"a": "m k", "b": "k n"},
    "transpose": {"x": "rows cols"},
    "reduce_sum": {"x": "n"},
}


class Timing(typing.NamedTuple):
    """The time of a number of cases, on the wall clock and in processor time of all processes."""

    cases: int
    seconds: float
    used: float
    ops: list


def timed_test(tool, cases):
    daemon = tool.daemon()
    before = tree_seconds(daemon) if daemon else 0
    ours = children_seconds()
    start = time.perf_counter()
    done = tool.run("test", "--cases", str(cases), "--format", "json")
    seconds = time.perf_counter() - start
    used = children_seconds() - ours
    if done.returncode != 0:
        sys.exit(f"gpuemu test ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    daemon = tool.daemon() or sys.exit("the daemon does not run after a test")
    report = json.loads(done.stdout)
    return Timing(report["total"], seconds, used + tree_seconds(daemon) - before, report["ops"])


def baseline(cases, folder):
    """Runs that many cases, cycling through the ops."""
    fresh = FreshProcesses(folder)
    ops = list(DIMS)
    fresh.run(ops[0], DIMS[ops[0]], INPUTS[ops[0]])  # Brings Python and numpy into the page cache.
    used, start = children_seconds(), time.perf_counter()
    for number in range(cases):
        op = ops[number % len(ops)]
        fresh.run(op, DIMS[op], INPUTS[op])
    return Timing(cases, time.perf_counter() - start, children_seconds() - used, [])


def measure(options, folder):
    """Returns the timings of each row of the table."""
    correct_examples(folder / "project", DIMS)
    tool = Gpuemu(options.bin, folder)
    rows = {name: [] for name in ("two python3 processes per case",
                                  "gpuemu test, starting the daemon",
                                  "gpuemu test, daemon running")}
    theirs, cold, warm = rows.values()
    try:
        timed_test(tool, 1)  # Compiles the kernels; later starts find them in the cache.
        for _ in range(options.rounds):
            theirs.append(baseline(options.baseline_cases, folder))
            tool.stop()
            cold.append(timed_test(tool, options.cases))
            warm.append(timed_test(tool, options.cases))
    finally:
        tool.stop()
    return rows


def print_table(rows, details):
    print(f"{'':34}{'cases':>6}{'seconds':>9}{'cases/s':>9}{'ratio':>7}"
          f"{'CPU ms/case':>13}{'ratio':>7}")
    base_rate = base_used = None
    for name, timings in rows.items():
        timings.sort(key=lambda timing: timing.seconds)
        median = timings[len(timings) // 2]
        rate, used = median.cases / median.seconds, median.used / median.cases
        base_rate, base_used = base_rate or rate, base_used or used
        print(f"{name:34}{median.cases:>6}{median.seconds:>9.2f}{rate:>9.2f}"
              f"{rate / base_rate:>7.0f}{used * 1e3:>13.2f}{base_used / used:>7.0f}")
        for op in median.ops if details else []:
            print(f"    {op['op_name']:14}{op['dtype']:10}{op['cases']:>12}"
                  f"{op['duration_ms'] / 1e3:>9.2f}{op['cases_per_second']:>9.0f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of gpuemu and gpuemu-daemon")
    parser.add_argument("--cases", type=int, default=64, help="per op and dtype")
    parser.add_argument("--baseline-cases", type=int, default=24)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--details", action="store_true", help="one line per op")
    options = parser.parse_args()
    random.seed(1)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-bench-"))
    try:
        rows = measure(options, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print_table(rows, options.details)


main()
