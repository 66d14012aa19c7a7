#!/usr/bin/env python3
"""Time per case of one project with two builds of gpuemu, alternately.

  compare_builds.py --before FOLDER --after FOLDER --project FOLDER [--cases N] [--rounds N] [OPS...]

`--before` and `--after` are folders with the programs of an older and a newer build; both must be able
to read the project, such as tests/quality/correct of the older one. Each build has its own daemon, which
compiles all kernels before the first round; in each round both run the same base seed. The table has the
medians of wall-clock time and of the processor time of command, daemon and workers. Run it on an idle
machine.
"""
import argparse
import dataclasses
import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from tool import Gpuemu, children_seconds, tree_seconds

WARM_CASES = 2


@dataclasses.dataclass
class Build:
    name: str
    tool: Gpuemu
    project: pathlib.Path
    clock: list[float] = dataclasses.field(default_factory=list)
    processor: list[float] = dataclasses.field(default_factory=list)
    cases: int = 0

    def run(self, ops, cases, seed):
        """Runs the cases; returns how many ran."""
        done = subprocess.run([self.tool.program, "test", *ops, "--cases", str(cases), "--seed", str(seed), "--format", "json"],
                              cwd=self.project, env=self.tool.environment, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not done.stdout.startswith("{"):
            sys.exit(f"compare_builds: {self.name} ended with {done.returncode}:\n{done.stdout[:2000]}{done.stderr[-2000:]}")
        return sum(one["cases"] for one in json.loads(done.stdout)["ops"])

    def measure(self, ops, cases, seed):
        daemon = self.tool.daemon()
        before = children_seconds() + tree_seconds(daemon)
        start = time.perf_counter()
        self.cases = self.run(ops, cases, seed)
        self.clock.append(time.perf_counter() - start)
        self.processor.append(children_seconds() + tree_seconds(daemon) - before)


def build_of(name, programs, project, folder):
    folder.mkdir()
    copy = folder / "project"
    shutil.copytree(project, copy)
    tool = Gpuemu(programs, folder)
    tool.folder = copy
    return Build(name, tool, copy)


def print_table(builds):
    before, after = builds
    print("| | before | after | after / before |\n| --- | --- | --- | --- |")
    for title, of in (("ms per case, on the clock", "clock"), ("ms per case, processor", "processor")):
        first, second = (1000 * statistics.median(getattr(one, of)) / one.cases for one in (before, after))
        print(f"| {title} | {first:.3f} | {second:.3f} | {second / first:.2f} |")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--before", required=True)
    parser.add_argument("--after", required=True)
    parser.add_argument("--project", required=True, type=pathlib.Path)
    parser.add_argument("--cases", type=int, default=48)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("ops", nargs="*", metavar="OPS")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpuemu-bench-") as home:
        builds = [build_of(name, programs, options.project, pathlib.Path(home) / name)
                  for name, programs in (("before", options.before), ("after", options.after))]
        try:
            for one in builds:
                one.run(options.ops, WARM_CASES, 1)
            for seed in range(1, options.rounds + 1):
                for one in builds if seed % 2 else reversed(builds):
                    one.measure(options.ops, options.cases, seed)
        finally:
            for one in builds:
                one.tool.stop()
    print(f"{builds[0].cases} and {builds[1].cases} cases, {options.rounds} rounds")
    print_table(builds)


if __name__ == "__main__":
    main()
