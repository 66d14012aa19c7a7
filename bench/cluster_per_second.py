#!/usr/bin/env python3
"""Cases per second of a fuzz run on two Ray nodes of one core each, compared with one node, on this
machine.

  cluster_per_second.py --bin FOLDER [--op NAME] [--cases N] [--rounds N]      exit code 77 without the package ray

Measured from the return of the first chunk to that of the last: starting Ray and the processes takes
seconds, independent of the number of cases. The head's daemon stores the results on the same two cores.
Both run alternately; medians. Everything runs in a private folder that is removed at the end.
"""
import argparse
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from tool import ROOT, Gpuemu, correct_examples

DIMS = {"vector_add": {"n": (4096, 4096)}, "softmax": {"rows": (8, 8), "cols": (512, 512)}}
RUN = """
import sys, time
import gpuemu
project, op, cases, seed, guided, address = sys.argv[1:]
seen = []
found = gpuemu.cluster.fuzz(project, op, iterations=int(cases), seed=int(seed), guided=guided == "guided", address=address,
                            on_progress=lambda status: seen.append((time.perf_counter(), status.done)))
assert found.failed == 0 and found.total >= int(cases), found
print((seen[-1][1] - seen[0][1]) / (seen[-1][0] - seen[0][0]))
"""


def rate(tool, options, way, seed, nodes):
    words = [sys.executable, "-c", RUN, tool.folder, options.op, str(options.cases), str(seed), way, f"local:{nodes}"]
    folders = [str(ROOT / "python"), *filter(None, [tool.environment.get("PYTHONPATH")])]  # The package ray may lie there.
    environment = {**tool.environment, "PYTHONPATH": os.pathsep.join(folders), "GPUEMU_CLI": tool.program}
    done = subprocess.run([str(word) for word in words], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"cluster_per_second: a run failed:\n{done.stdout}{done.stderr}")
    return float(done.stdout.split()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of gpuemu and gpuemu-daemon")
    parser.add_argument("--op", default="vector_add", choices=DIMS)
    parser.add_argument("--cases", type=int, default=8000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if importlib.util.find_spec("ray") is None:
        print("cluster_per_second: no package ray; pip install ray")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="gpuemu-bench-") as home:
        tool = Gpuemu(options.bin, pathlib.Path(home))
        correct_examples(pathlib.Path(home) / "project", {options.op: DIMS[options.op]})
        tool.folder = pathlib.Path(home) / "project"
        try:
            tool.run("fuzz", "-i", "50")  # Starts the head's daemon.
            for way in ("unguided", "guided"):
                rates = {1: [], 2: []}
                for seed in range(options.rounds):
                    for nodes, several in rates.items():
                        several.append(rate(tool, options, way, seed, nodes))
                one, two = (statistics.median(several) for several in rates.values())
                print(f"{way:9} 1 node {one:7.0f} cases/s   2 nodes {two:7.0f} cases/s   {two / one:.2f} times one", flush=True)
        finally:
            tool.stop()


if __name__ == "__main__":
    main()
