#!/usr/bin/env python3
"""Trials and seconds that `gpuemu minimize` needs for failing cases of the examples with a planted
fault.

  minimize_seconds.py --bin FOLDER [--cases N] [--failures N]

The baseline of the same run is the same number of trials in fresh processes, described in tool.py,
without running any kernel. Everything runs in a private folder that is removed at the end.
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

from tool import ROOT, FreshProcesses, Gpuemu, children_seconds, tree_seconds

PLANTED = ["scale_missing_tail_mask", "reduce_missing_sync", "rowmax_wrong_identity"]
BASELINE_TRIALS = 8


class Shrunk(typing.NamedTuple):
    """One minimized failure."""

    trials: int
    seconds: float
    used: float


def seconds_per_fresh_trial(folder):
    fresh, dims, inputs = FreshProcesses(folder), {"rows": (1, 16), "cols": (1, 1100)}, {"x": "rows cols"}
    fresh.run("softmax", dims, inputs)
    start = time.perf_counter()
    for _ in range(BASELINE_TRIALS):
        fresh.run("softmax", dims, inputs)
    return (time.perf_counter() - start) / BASELINE_TRIALS


def failing_seeds(tool, op, options):
    done = tool.run("test", op, "--seed", "3", "--cases", str(options.cases), "--format", "json")
    if done.returncode != 1:
        sys.exit(f"gpuemu test {op} ended with {done.returncode}, expected findings:\n{done.stderr[-2000:]}")
    failures = json.loads(done.stdout)["ops"][0]["failures"]
    return [failure["seed"] for failure in failures][:options.failures]


def shrink(tool, op, seed):
    daemon = tool.daemon()
    before, ours, start = tree_seconds(daemon), children_seconds(), time.perf_counter()
    done = tool.run("minimize", str(seed), "--op", op, "--format", "json")
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"gpuemu minimize {seed} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    used = tree_seconds(daemon) - before + children_seconds() - ours
    return Shrunk(json.loads(done.stdout.splitlines()[-1])["trials"], seconds, used)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of gpuemu and gpuemu-daemon")
    parser.add_argument("--cases", type=int, default=64, help="of each op, to find failures")
    parser.add_argument("--failures", type=int, default=12, help="of each op, to make smaller")
    options = parser.parse_args()
    random.seed(1)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-bench-"))
    shutil.copytree(ROOT / "examples", folder / "project")
    tool = Gpuemu(options.bin, folder)
    try:
        print(f"{'':25}{'failures':>9}{'trials':>8}{'at most':>9}{'seconds':>9}{'at most':>9}{'CPU s':>7}{'fresh processes':>17}")
        for op in PLANTED:
            shrunk = [shrink(tool, op, seed) for seed in failing_seeds(tool, op, options)]
            trials, seconds, used = (sorted(column) for column in zip(*shrunk))
            middle = len(shrunk) // 2
            ratio = trials[middle] * seconds_per_fresh_trial(folder) / seconds[middle]
            print(f"{op:25}{len(shrunk):>9}{trials[middle]:>8}{trials[-1]:>9}{seconds[middle]:>9.2f}{seconds[-1]:>9.2f}"
                  f"{used[middle]:>7.2f}{ratio:>8.0f} times slower")
    finally:
        tool.stop()
        shutil.rmtree(folder, ignore_errors=True)
    print("Medians, and the most that one failure took.")


main()
