#!/usr/bin/env python3
"""Time from a new kernel to its verdict: `gpuemu test` of 16 cases with a source that was never
compiled, without a daemon (cold) and with a running one (new), and again without a change (warm).

  first_verdict.py --bin FOLDER [--rounds N]

The baseline of the same run is nvcc alone on the same source, or python3 with NumPy if nvcc is missing.
Everything runs in a private folder that is removed at the end.
"""
import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from tool import ROOT, Gpuemu

KERNEL = """extern "C" __global__ void scale(const float* x, float* y, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = {factor}f * x[i];
}}
"""
CONFIG = """[[kernels]]
name = "scale"
source = "scale.cu"
reference = "scale.py"
inputs = [{ name = "x", shape = ["n"], dtype = "float32" }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
dims = { n = [1, 3000] }
launches = [{ entry = "scale", grid = ["cdiv(n, 256)"], block = ["256"], args = ["x", "y", "i32:n"] }]
"""


def write_kernel(project, number):
    """Writes a source that is in no cache."""
    factor = 1 + number / 128
    (project / "scale.cu").write_text(KERNEL.format(factor=repr(factor)))
    (project / "scale.py").write_text(f"def reference(x):\n    return {factor!r} * x\n")


def timed_test(tool):
    start = time.perf_counter()
    done = tool.run("test", "--cases", "16", "--seed", "1")
    seconds = time.perf_counter() - start
    if done.returncode != 0 or "[PASS] scale" not in done.stdout:
        sys.exit(f"gpuemu test ended with {done.returncode}:\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    return seconds


def baseline_seconds(project):
    nvcc = shutil.which("nvcc") or next(iter(map(str, ROOT.glob("build/cuda/**/bin/nvcc"))), None)
    words = [nvcc, "-ptx", "-o", "/dev/null", "scale.cu"] if nvcc else [sys.executable, "-c", "import numpy"]
    start = time.perf_counter()
    subprocess.run(words, cwd=project, check=True, capture_output=True)
    return ("nvcc -ptx" if nvcc else "python3 -c 'import numpy'"), time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the folder of gpuemu and gpuemu-daemon")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="gpuemu-bench-"))
    project = folder / "project"
    project.mkdir()
    (project / "gpuemu.toml").write_text(CONFIG)
    tool = Gpuemu(options.bin, folder)
    rows = {"cold": [], "new": [], "warm": []}
    baseline = []
    try:
        for number in range(options.rounds):
            tool.stop()
            write_kernel(project, 2 * number)
            rows["cold"].append(timed_test(tool))
            write_kernel(project, 2 * number + 1)
            name, seconds = baseline_seconds(project)
            baseline.append(seconds)
            rows["new"].append(timed_test(tool))
            rows["warm"].append(timed_test(tool))
    finally:
        tool.stop()
        shutil.rmtree(folder, ignore_errors=True)
    middle = statistics.median(baseline)
    print(f"{'':28}{'seconds':>9}{'at most':>9}{'of ' + name:>18}")
    told = {"cold": "new kernel, no daemon", "new": "new kernel, daemon runs", "warm": "nothing changed"}
    for key, seconds in rows.items():
        print(f"{told[key]:28}{statistics.median(seconds):>9.2f}{max(seconds):>9.2f}{statistics.median(seconds) / middle:>17.2f}x")


main()
