#!/usr/bin/env python3
"""Cases per second of several projects that run at once with one daemon, compared with one project
alone.

  projects_per_second.py --bin FOLDER [--projects N] [--cases N] [--rounds N]

All projects are the same copy of a correct example. In each round one project runs all cases, then all
projects run an equal part of them at once; the table has the medians. Everything runs in a private
folder that is removed at the end.
"""
import argparse
import concurrent.futures
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from tool import Gpuemu, correct_examples

DIMS = {"gelu": {"n": (1, 16384)}}


def run(tool, folder, cases):
    done = subprocess.run([tool.program, "test", "--cases", str(cases)], cwd=folder, env=tool.environment,
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"projects_per_second: {folder} failed:\n{done.stdout}{done.stderr}")


def seconds(tool, folders, cases):
    """Returns how long all of them take for their part."""
    start = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(len(folders)) as pool:
        list(pool.map(lambda folder: run(tool, folder, cases // len(folders)), folders))
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--projects", type=int, default=5)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gpuemu-bench-") as home:
        tool = Gpuemu(options.bin, pathlib.Path(home))
        folders = [pathlib.Path(home) / f"project{i}" for i in range(options.projects)]
        for folder in folders:
            correct_examples(folder, DIMS)
        tool.folder = folders[0]
        try:
            for folder in folders:  # Starts daemon, workers and interpreters, and compiles.
                run(tool, folder, 40)
            alone, together = [], []
            for _ in range(options.rounds):
                alone.append(seconds(tool, folders[:1], options.cases))
                together.append(seconds(tool, folders, options.cases))
        finally:
            tool.stop()
    one, all_of_them = (options.cases / statistics.median(times) for times in (alone, together))
    print(f"one project          {one:8.0f} cases/s")
    print(f"{options.projects} projects at once   {all_of_them:8.0f} cases/s   {all_of_them / one:.2f} times one")


if __name__ == "__main__":
    main()
