#!/usr/bin/env python3
"""Cases per second of `gpuemu test`, beside tools that start a fresh python3 for every script.

  cases_per_second.py --bin FOLDER [--cases N] [--baseline-cases N] [--rounds N] [--details]

One case of the baseline is what such tools do: a python3 that draws the inputs and one that computes
the expected output, both over the stdin contract of docs/protocol.md. Beside the time on the clock
stands the processor time of all processes, which other work on the machine changes less.
Everything runs in a private folder that is removed at the end.
"""
import argparse
import json
import os
import pathlib
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
import typing

ROOT = pathlib.Path(__file__).resolve().parent.parent
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

DRAW_INPUTS = '''
import base64, json, sys
import numpy as np
case = json.load(sys.stdin)
random = np.random.default_rng(int(case["kwargs"]["seed"]))
outputs = {}
for name, shape in json.loads(case["kwargs"]["shapes"]).items():
    array = random.standard_normal(shape).astype(np.float32)
    outputs[name] = {"shape": shape, "dtype": "float32",
                     "data": base64.b64encode(array.tobytes()).decode()}
json.dump({"outputs": outputs}, sys.stdout)
'''
COMPUTE_REFERENCE = '''
import base64, inspect, json, runpy, sys
import numpy as np
case = json.load(sys.stdin)
inputs = {name: np.frombuffer(base64.b64decode(one["data"]), one["dtype"]).reshape(one["shape"])
          .astype(np.float64) for name, one in case["inputs"].items()}
reference = runpy.run_path(case["kwargs"]["script"])["reference"]
inputs.update({"eps": 1e-5} if "eps" in inspect.signature(reference).parameters else {})
array = np.asarray(reference(**inputs)).astype(np.float32)
json.dump({"shape": list(array.shape), "dtype": "float32",
           "data": base64.b64encode(array.tobytes()).decode()}, sys.stdout)
'''


def correct_examples(folder):
    """A copy of examples/ without the planted faults, with larger dims."""
    shutil.copytree(ROOT / "examples", folder)
    text = (folder / "gpuemu.toml").read_text()
    kept = []
    for block in re.split(r"(?m)^(?=\[\[)", text):
        name = re.search(r'(?m)^name = "(\w+)"', block)[1]
        if block.startswith("[[") and name not in DIMS:
            continue
        if block.startswith("[[ops]]"):
            dims = ", ".join(f"{dim} = [{low}, {high}]"
                             for dim, (low, high) in DIMS[name].items())
            block, replaced = re.subn(r"(?m)^dims = .*$", f"dims = {{ {dims} }}", block)
            assert replaced == 1, block
        kept.append(block)
    (folder / "gpuemu.toml").write_text("".join(kept))


class Timing(typing.NamedTuple):
    """A number of cases, on the clock and in processor time of all processes."""

    cases: int
    seconds: float
    used: float
    ops: list


def children_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def tree_seconds(process):
    """Processor time of a process, its reaped children and its living descendants."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    for task in pathlib.Path(f"/proc/{process}/task").iterdir():
        for child in (task / "children").read_text().split():
            seconds += tree_seconds(child)
    return seconds


class Gpuemu:
    """The command line tool in a private home."""

    def __init__(self, programs, folder):
        self.program = str(pathlib.Path(programs).resolve() / "gpuemu")
        self.folder = folder / "examples"
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith("GPUEMU_")}
        self.environment.update(HOME=str(folder), GPUEMU_SOCKET=str(folder / "socket/gpuemu.sock"),
                                GPUEMU_DB=str(folder / "db"))

    def run(self, *words):
        return subprocess.run([self.program, *words], cwd=self.folder, env=self.environment,
                              capture_output=True, text=True)

    def daemon(self):
        """Its process id; None when it does not run."""
        try:
            return json.loads(self.run("status", "--format", "json").stdout).get("pid")
        except ValueError:
            return None

    def timed_test(self, cases):
        daemon = self.daemon()
        before = tree_seconds(daemon) if daemon else 0
        ours = children_seconds()
        start = time.perf_counter()
        done = self.run("test", "--cases", str(cases), "--format", "json")
        seconds = time.perf_counter() - start
        used = children_seconds() - ours
        if done.returncode != 0:
            sys.exit(f"gpuemu test ended with {done.returncode}:\n{done.stdout[-2000:]}\n"
                     f"{done.stderr[-2000:]}")
        daemon = self.daemon() or sys.exit("the daemon does not run after a test")
        report = json.loads(done.stdout)
        return Timing(report["total"], seconds, used + tree_seconds(daemon) - before, report["ops"])

    def stop(self):
        self.run("daemon", "stop")


def draw_size(low, high):
    """As often small as large, as gpuemu draws sizes."""
    return random.randint(low, low + ((high - low) >> random.randint(0, (high - low).bit_length())))


def run_script(script, document):
    done = subprocess.run([sys.executable, script], input=json.dumps(document), text=True,
                          capture_output=True, check=True)
    return json.loads(done.stdout)


def baseline_case(op, scripts):
    sizes = {dim: draw_size(*limits) for dim, limits in DIMS[op].items()}
    shapes = {name: [sizes[dim] for dim in dims.split()] for name, dims in INPUTS[op].items()}
    drawn = run_script(scripts / "draw_inputs.py",
                       {"inputs": {}, "kwargs": {"seed": "1", "shapes": json.dumps(shapes)}})
    run_script(scripts / "compute_reference.py",
               {"inputs": drawn["outputs"],
                "kwargs": {"script": str(ROOT / f"examples/references/{op}.py")}})


def baseline(cases, folder):
    """That many cases, over the ops in turn."""
    (folder / "draw_inputs.py").write_text(DRAW_INPUTS)
    (folder / "compute_reference.py").write_text(COMPUTE_REFERENCE)
    ops = list(DIMS)
    baseline_case(ops[0], folder)  # Python and numpy are in the page cache from here on.
    used, start = children_seconds(), time.perf_counter()
    for number in range(cases):
        baseline_case(ops[number % len(ops)], folder)
    return Timing(cases, time.perf_counter() - start, children_seconds() - used, [])


def measure(options, folder):
    """The timings of each row of the table."""
    correct_examples(folder / "examples")
    tool = Gpuemu(options.bin, folder)
    rows = {name: [] for name in ("two python3 processes per case",
                                  "gpuemu test, starting the daemon",
                                  "gpuemu test, daemon running")}
    theirs, cold, warm = rows.values()
    try:
        tool.timed_test(1)  # Compiles the kernels; later starts find them in the cache.
        for _ in range(options.rounds):
            theirs.append(baseline(options.baseline_cases, folder))
            tool.stop()
            cold.append(tool.timed_test(options.cases))
            warm.append(tool.timed_test(options.cases))
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
