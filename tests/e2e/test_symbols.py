"""__constant__ and __device__ variables that the host sets."""
import json
import os
import subprocess
import sys

import pytest

from conftest import BIN, ROOT

KERNEL = """
namespace model { __constant__ float bias = 0.0f; }
__constant__ float weights[64];
static __device__ float scale;
extern "C" __global__ void taps(const float* x, float* y, int n, int k) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = model::bias;
  for (int j = 0; j < k; ++j) sum += weights[j] * x[i + j];
  y[i] = sum * scale;
}
"""
PROJECT = """[[kernels]]
name = "taps"
source = "k.cu"
reference = "ref.py"
inputs = [{ name = "x", shape = ["n + k - 1"] }, { name = "w", shape = ["k"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 1000], k = [1, 64] }
accumulate = "k"
symbols = { weights = "w", scale = "f32:0.5" }
launches = [{ entry = "taps", grid = "cdiv(n, 128)", block = 128, args = ["x", "y", "i32:n", "i32:k"] }]
"""
RIGHT = """import numpy as np
def reference(x, w, n, k):
    return 0.5 * sum(w[j] * x[j:j + n] for j in range(k))
"""


@pytest.fixture
def home(new_home):
    return new_home({"k.cu": KERNEL, "gpuemu.toml": PROJECT, "ref.py": RIGHT})


def rewritten(home, name, *changes):
    text = (home.project / name).read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (home.project / name).write_text(text)


def test_constants_get_an_input_and_variables_a_number(home):
    run = home.run("test", "--seed", 1)
    assert run.returncode == 0, run.stdout + run.stderr
    rewritten(home, "ref.py", ("0.5 *", "0.25 *"))
    run = home.run("test", "--seed", 1, "--cases", 8)
    assert run.returncode == 1, run.stdout + run.stderr


def test_a_constant_that_nothing_sets_is_a_finding_that_says_how_to_set_it(home):
    rewritten(home, "gpuemu.toml", ('weights = "w", ', ""))
    run = home.run("test", "--seed", 1, "--cases", 8)
    assert run.returncode == 1 and "UninitializedRead" in run.stdout, run.stdout + run.stderr
    shown = home.run("failures", "--format", "json").stdout
    assert "nothing sets it" in shown and "symbols = { weights =" in shown, shown


def test_what_a_value_does_not_cover_is_not_set(home):
    rewritten(home, "k.cu", ("j < k;", "j <= k && j < 64;"))
    rewritten(home, "gpuemu.toml", ('["n + k - 1"]', '["n + k"]'))
    run = home.run("test", "--seed", 1, "--cases", 16)
    assert run.returncode == 1 and "UninitializedRead" in run.stdout, run.stdout + run.stderr


def test_an_initialiser_sets_a_constant(home):
    rewritten(home, "k.cu", ("weights[64];", "weights[64] = {};"), ("float scale;", "float scale = 0.5f;"))
    rewritten(home, "gpuemu.toml", ('symbols = { weights = "w", scale = "f32:0.5" }\n', ""))
    rewritten(home, "ref.py", ("w[j] *", "0 *"))
    run = home.run("test", "--seed", 1, "--cases", 8)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("old, new, message", [
    ("weights =", "weight =", "the compiled source has no variable 'weight'; it has"),
    ('weights = "w"', 'weights = "y"', "'y' is not an input of op 'taps', expected one of them"),
    ("k = [1, 64]", "k = [65, 80]", "bytes, the variable only 256"),
    ('"f32:0.5"', '"f64:0.5"', "'f64:0.5' has 8 bytes, the variable only 4"),
])  # fmt: skip
def test_what_cannot_be_set_is_an_error(home, old, new, message):
    rewritten(home, "gpuemu.toml", (old, new))
    run = home.run("test", "--seed", 1, "--cases", 4)
    assert run.returncode != 0 and message in run.stdout + run.stderr, run.stdout + run.stderr


def test_an_exported_case_holds_the_values(home):
    rewritten(home, "k.cu", ("sum * scale;", "sum * scale + (i == 0);"))
    assert home.run("test", "--seed", 1, "--cases", 4).returncode == 1
    seed = json.loads(home.run("failures", "--format", "json").stdout)["results"][0]["seed_text"]
    made = home.run("export", seed, "-o", "out")
    assert made.returncode == 0, made.stdout + made.stderr
    done = subprocess.run([sys.executable, "run.py", "--device", "emulator"], cwd=home.project / "out", capture_output=True, text=True, timeout=120,
                          env=home.env | {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "python")})  # fmt: skip
    assert done.returncode == 1 and "y[0]" in done.stdout and "1 of " in done.stdout, done.stdout + done.stderr
    loaded = home.run("debug", seed, "-c", "run")
    assert loaded.returncode == 0, loaded.stdout + loaded.stderr
