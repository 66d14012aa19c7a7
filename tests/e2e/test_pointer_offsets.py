"""Arguments that point into a tensor: the address of an element behind its first."""
import json
import os
import subprocess
import sys

import pytest

from conftest import BIN, ROOT

KERNEL = """
__global__ void product(const float* gate, const float* up, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = gate[i] * up[i];
}
"""
PROJECT = """[[kernels]]
name = "product"
source = "k.cu"
reference = "ref.py"
inputs = [{ name = "x", shape = ["2 * n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 1000] }
launches = [{ entry = "product", grid = "cdiv(n, 128)", block = 128, args = ["x", "x + n", "y", "i32:n"] }]
"""
RIGHT = "def reference(x, n): return x[:n] * x[n:]\n"


@pytest.fixture
def home(new_home):
    return new_home({"k.cu": KERNEL, "gpuemu.toml": PROJECT, "ref.py": RIGHT})


def test_the_second_half_of_a_tensor_is_passed(home):
    run = home.run("test", "--seed", 1)
    assert run.returncode == 0, run.stdout + run.stderr
    proof = home.run("prove", "product")
    assert "3 of 3 accesses" in proof.stdout, proof.stdout


def test_an_address_behind_the_tensor_is_an_error_that_says_so(home):
    (home.project / "gpuemu.toml").write_text(PROJECT.replace('"x + n"', '"x + 2 * n + 1"'))
    run = home.run("test", "--seed", 1, "--cases", 4)
    assert run.returncode != 0 and "elements behind the first of 'x', expected 0 to " in run.stdout + run.stderr, run.stdout + run.stderr
    (home.project / "gpuemu.toml").write_text(PROJECT.replace('"x + n"', '"x + 2 * n"'))
    run = home.run("test", "--seed", 1, "--cases", 4)
    assert run.returncode == 1 and "OutOfBounds" in run.stdout, run.stdout + run.stderr


def test_an_exported_case_points_there_too(home):
    (home.project / "k.cu").write_text(KERNEL.replace("up[i];", "up[i] + (i == 0);"))
    assert home.run("test", "--seed", 1, "--cases", 4).returncode == 1
    seed = json.loads(home.run("failures", "--format", "json").stdout)["results"][0]["seed_text"]
    assert home.run("export", seed, "-o", "out").returncode == 0
    case = json.loads((home.project / "out/case.json").read_text())
    args = case["launches"][0]["args"]
    assert args[1]["offset_bytes"] == 4 * case["tensors"][0]["shape"][0] // 2 and "offset_bytes" not in args[0]
    done = subprocess.run([sys.executable, "run.py", "--device", "emulator"], cwd=home.project / "out", capture_output=True, text=True, timeout=120,
                          env=home.env | {"PATH": f"{BIN}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT / "python")})
    # One element is wrong: with another address all would be.
    assert done.returncode == 1 and "y[0]" in done.stdout and "1 of " in done.stdout, done.stdout + done.stderr
    loaded = home.run("debug", seed, "-c", "run")
    assert loaded.returncode == 0, loaded.stdout + loaded.stderr
