#!/usr/bin/env python3
"""Cases per second of a guided search beside those of unguided runs with the same element counts, on some numbers of lanes.

  guided_per_second.py --bin FOLDER [--op NAME] [--backend NAME] [--lanes 1,2] [--cases N] [--rounds N]

The sizes are fixed, so that guided and unguided cases have the same elements: a search follows small cases more often, and
without that a comparison would be one of sizes. Both run in turn in one daemon. Goals: guided at least half of unguided for
each number of lanes, and 16 lanes at least nine times as fast as one, guided as well as unguided. Runs have `cases` for each
lane, so that they take about as long. What other programs do changes rates on the clock, and ratios less: `rounds` are
medians. Everything runs in a private folder that is removed.
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

from tool import Gpuemu, correct_examples

DIMS = {"vector_add": {"n": (4096, 4096)}, "softmax": {"rows": (8, 8), "cols": (512, 512)}}
WAYS = {"guided": [], "unguided": ["--unguided"]}


def rate(tool, op, cases, seed, words):
    start = time.perf_counter()
    done = tool.run("fuzz", "--op", op, "-i", str(cases), "--seed", str(seed), "--format", "json", *words)
    seconds = time.perf_counter() - start
    results = json.loads(done.stdout) if done.returncode == 0 else None
    if results is None or results["failed"] != 0 or results["total"] < cases:
        sys.exit(f"gpuemu fuzz ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return results["total"] / seconds


def measure(options, lanes, folder):
    """The median rate of each way with so many lanes."""
    home = folder / str(lanes)
    home.mkdir()
    correct_examples(home / "project", {options.op: DIMS[options.op]})
    config = home / "project/gpuemu.toml"
    runtime = f'[runtime]\nbackend = "{options.backend}"\nworkers = {lanes}\n'
    text, set_ = re.subn(r"(?m)^\[runtime\]\n", runtime, re.sub(r"(?m)^(backend|workers) = .*\n", "", config.read_text()))
    config.write_text(text if set_ else runtime + text)
    tool = Gpuemu(options.bin, home)
    rates = {way: [] for way in WAYS}
    try:
        tool.run("fuzz", "-i", "200")  # Compiles the kernel and starts everything.
        for number in range(options.rounds):
            for way, words in WAYS.items():
                rates[way].append(rate(tool, options.op, lanes * options.cases, number, words))
    finally:
        tool.stop()
    return {way: statistics.median(several) for way, several in rates.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of gpuemu and gpuemu-daemon")
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
    print(f"{options.op:12}{'guided/s':>10}{'unguided/s':>12}{'ratio':>7}{'x lanes':>9}{'unguided':>10}")
    first = rates[lanes[0]]
    for one, found in rates.items():
        print(f"{one:>3} lanes   {found['guided']:>10.0f}{found['unguided']:>12.0f}{found['guided'] / found['unguided']:>7.2f}"
              f"{found['guided'] / first['guided']:>9.2f}{found['unguided'] / first['unguided']:>10.2f}")


main()
