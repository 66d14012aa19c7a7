#!/usr/bin/env python3
"""Cases per second of a guided search, compared with unguided runs with the same element counts, for
several numbers of lanes.

  guided_per_second.py --bin FOLDER [--before FOLDER] [--op NAME] [--backend NAME] [--lanes 1,2] [--cases N] [--rounds N]

The sizes are fixed, so that guided and unguided cases have the same elements: a search follows small cases more often, and
without that a comparison would be one of sizes. Both run in turn in one daemon. Goals: guided at least half of unguided for
each number of lanes, and 16 lanes at least nine times as fast as one, guided as well as unguided. Runs have `cases` for each
lane, so that they take about as long. What other programs do changes rates on the clock, and ratios less: `rounds` are
medians. The processor time of a case is that of daemon, workers, Python and command. With `--before` an older build runs
the same in turn. The last lines tell the processor time of an unguided case by program. Everything runs in a private
folder that is removed.
"""
import argparse
import json
import pathlib
import re
import shutil
import statistics
import sys
import tempfile
import time
import typing

from tool import Gpuemu, children_seconds, correct_examples, seconds_between, used_by

DIMS = {"vector_add": {"n": (4096, 4096)}, "softmax": {"rows": (8, 8), "cols": (512, 512)}}
WAYS = {"guided": [], "unguided": ["--unguided"]}


class Rate(typing.NamedTuple):
    cases: float  # Per second.
    seconds: dict  # Processor time per case, by program.

    def used(self):
        return sum(self.seconds.values())


def rate(tool, op, cases, seed, words):
    daemon = tool.daemon() or sys.exit("the daemon does not run")
    before, ours, start = used_by(daemon), children_seconds(), time.perf_counter()
    done = tool.run("fuzz", "--op", op, "-i", str(cases), "--seed", str(seed), "--format", "json", *words)
    seconds = time.perf_counter() - start
    results = json.loads(done.stdout) if done.returncode == 0 else None
    if results is None or results["failed"] != 0 or results["total"] < cases:
        sys.exit(f"gpuemu fuzz ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    used = seconds_between(before, used_by(daemon))
    used["gpuemu"] += children_seconds() - ours
    return Rate(results["total"] / seconds, {program: one / results["total"] for program, one in used.items()})


def median(rates):
    """The median rate, and the processor time of the run with the median of it."""
    middle = sorted(rates, key=Rate.used)[len(rates) // 2]
    return Rate(statistics.median(one.cases for one in rates), middle.seconds)


def tool_with(options, programs, lanes, home):
    """The tool with a project of so many lanes."""
    home.mkdir(parents=True)
    correct_examples(home / "project", {options.op: DIMS[options.op]})
    config = home / "project/gpuemu.toml"
    runtime = f'[runtime]\nbackend = "{options.backend}"\nworkers = {lanes}\n'
    text, set_ = re.subn(r"(?m)^\[runtime\]\n", runtime, re.sub(r"(?m)^(backend|workers) = .*\n", "", config.read_text()))
    config.write_text(text if set_ else runtime + text)
    return Gpuemu(programs, home)


def measure(options, lanes, folder):
    """The median of each way with so many lanes, by build."""
    builds = {"": options.bin, **({"before": options.before} if options.before else {})}
    tools = {build: tool_with(options, programs, lanes, folder / f"{lanes}{build}") for build, programs in builds.items()}
    found = {build: {way: [] for way in WAYS} for build in builds}
    try:
        for tool in tools.values():  # Starts the daemon and compiles the kernel.
            warmed = tool.run("fuzz", "-i", "200")
            if warmed.returncode != 0:
                sys.exit(f"gpuemu fuzz ended with {warmed.returncode}:\n{warmed.stdout[-2000:]}\n{warmed.stderr[-2000:]}")
        for number in range(options.rounds):
            for way, words in WAYS.items():
                for build, tool in tools.items():
                    found[build][way].append(rate(tool, options.op, lanes * options.cases, number, words))
    finally:
        for tool in tools.values():
            tool.stop()
    return {build: {way: median(several) for way, several in ways.items()} for build, ways in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of gpuemu and gpuemu-daemon")
    parser.add_argument("--before", help="the folder of those of an older build")
    parser.add_argument("--op", default="vector_add", choices=DIMS)
    parser.add_argument("--backend", default="emulator", choices=["emulator", "cuda"], help="cuda does not say what a case reaches")
    parser.add_argument("--lanes", default="1,2", help="numbers, each of its own daemon")
    parser.add_argument("--cases", type=int, default=2000, help="for each lane of a run")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lanes = [int(one) for one in options.lanes.split(",")]
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-bench-"))
    try:
        rates = {one: measure(options, one, folder) for one in lanes}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{options.op:20}{'guided/s':>10}{'unguided/s':>12}{'ratio':>7}{'x lanes':>9}{'unguided':>10}{'us/case':>9}{'unguided':>10}")
    for build in rates[lanes[0]]:
        first = rates[lanes[0]][build]
        for one in lanes:
            guided, unguided = rates[one][build]["guided"], rates[one][build]["unguided"]
            print(f"{one:>3} lanes {build:10}{guided.cases:>10.0f}{unguided.cases:>12.0f}{guided.cases / unguided.cases:>7.2f}"
                  f"{guided.cases / first['guided'].cases:>9.2f}{unguided.cases / first['unguided'].cases:>10.2f}"
                  f"{guided.used() * 1e6:>9.0f}{unguided.used() * 1e6:>10.0f}")
    for build in rates[lanes[0]]:
        for one in lanes:
            used = rates[one][build]["unguided"].seconds
            told = ", ".join(f"{program} {seconds * 1e6:.0f}" for program, seconds in sorted(used.items()))
            print(f"{one:>3} lanes {build:10}us of an unguided case: {told}")


main()
