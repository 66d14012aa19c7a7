#!/usr/bin/env python3
"""Compares the Python package with NumPy: import, filling tensors, checking a trivial function. Minimum
processor time of several runs."""
import pathlib
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
import numpy as np  # noqa: E402

import gpuemu  # noqa: E402
from gpuemu.generate import native, values  # noqa: E402

ELEMENTS = 1 << 22
ROUNDS = 5


def least(run, rounds=ROUNDS):
    """Returns the processor time of the fastest round in seconds."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def importing(code):
    """Returns the processor time of a fresh python3 that runs this, minus that of one that does nothing,
    in seconds."""
    def spent(code):
        found = []
        for _ in range(ROUNDS):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT / "python")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(found)

    return spent(code) - spent("pass")


def fill(strategy, dtype):
    entry = {"name": "x", "dtype": dtype, "shape": [ELEMENTS], "range": None}
    return values.fill_input({"base_seed": 1, "iteration": 0, "value_strategy": strategy, "inputs": [entry]}, "x")


STRATEGIES = ("uniform10", "normal", "bits_uniform", "duplicates", "ascend", "special", "mixed_adversarial")
DTYPES = ("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8")


def fill_rates(library, copied):
    """Prints MB/s of every strategy and dtype, and compares the minimum of each dtype with `copied`,
    that of memcpy."""
    native._searched, native._library = True, library
    by = "NumPy alone" if library is None else "machine code"
    for dtype in DTYPES:
        rates = {}
        for strategy in STRATEGIES:
            rates[strategy] = ELEMENTS * fill(strategy, dtype).itemsize / least(lambda: fill(strategy, dtype), 3) / 1e6
        told = ", ".join(f"{name} {rate:.0f}" for name, rate in rates.items())
        print(f"fill {dtype} by {by}, MB/s: {told}; the least is {min(rates.values()) / copied:.3f} of memcpy")


def double(x: gpuemu.Tensor["rows", "cols"]):
    return x * np.float32(2)


def plain_loop(cases):
    drawn = np.random.default_rng(1)
    for _ in range(cases):
        x = drawn.standard_normal((4, 8)).astype(np.float32)
        assert np.allclose(double(x), 2 * x.astype(np.float64), 1e-4, 1e-5)


def main():
    numpy = importing("import numpy")
    for what in ("import gpuemu", "import gpuemu; gpuemu.Client"):
        ours = importing(what)
        print(f"{what}: {1000 * ours:.0f} ms, {ours / numpy:.2f} times import numpy ({1000 * numpy:.0f} ms)")
    drawn = np.random.default_rng(1)
    uniform = ELEMENTS * 4 / least(lambda: drawn.random(ELEMENTS, np.float32)) / 1e6
    normal = ELEMENTS * 4 / least(lambda: drawn.standard_normal(ELEMENTS, np.float32)) / 1e6
    print(f"NumPy's generator, float32: uniform {uniform:.0f} MB/s, normal {normal:.0f} MB/s")
    source, target = np.ones(ELEMENTS * 8, np.uint8), np.empty(ELEMENTS * 8, np.uint8)
    copied = source.nbytes / least(lambda: np.copyto(target, source)) / 1e6
    print(f"memcpy of {source.nbytes >> 20} MiB: {copied:.0f} MB/s")
    library = native.library()
    if library is None:
        print("no libgpuemu-draws.so beside the gpuemu command: machine code is not measured")
    for one in (None, library) if library else (None,):
        fill_rates(one, copied)
    dims = {"rows": (1, 8), "cols": (1, 16)}
    checked = 500 / least(lambda: gpuemu.check(double, lambda x: 2 * x, cases=500, seed=1, dims=dims), 3)
    plain = 500 / least(lambda: plain_loop(500), 3)
    print(f"cases per second of a trivial function: gpuemu.check {checked:.0f}, a loop of draw, call, allclose {plain:.0f}: {checked / plain:.2f} of it")


if __name__ == "__main__":
    main()
