"""What a kernel says by itself reaches the user: printf, assert with its place, a PTX version that is newer than known."""
import json

import pytest

from projects import SCALE_PTX, TWO, kernel_op

PRINTS = r"""#include <cstdio>
extern "C" __global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) printf("n is %d,\x1b[31m first %.1f\n", n, 0.5f);
  if (i < n) y[i] = 3 * x[i];
}
"""
ASSERTS = r"""#include <cassert>
__device__ __noinline__ float checked(float value) {
  assert(value != value && "must be NaN");
  return value;
}
extern "C" __global__ void scale(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2 * checked(x[i]);
}
"""


@pytest.fixture(scope="module")
def home(new_home):
    config = "[validation]\nseed = 1\ncases = 2\n"
    config += kernel_op("prints", "prints.cu") + kernel_op("asserts", "asserts.cu") + kernel_op("newer", "newer.ptx")
    return new_home({"gpuemu.toml": config, "ref_twice.py": "def reference(x):\n    return 2.0 * x\n",
                     "prints.cu": PRINTS, "asserts.cu": ASSERTS,
                     "newer.ptx": SCALE_PTX.replace("FACTOR", TWO).replace(".version 7.0", ".version 99.1")})


def failing_seed(home, op):
    report = json.loads(home.run("test", op, "--format", "json").stdout)
    return str(report["ops"][0]["failures"][0]["seed"])


def test_printf_is_shown_when_a_failure_is_reproduced(home):
    seed = failing_seed(home, "prints")
    again = json.loads(home.run("reproduce", seed, "--format", "json").stdout)
    size = again["inputs"]["x"]["shape"][0]
    assert again["printed"] == [f"n is {size},\x1b[31m first 0.5"]
    shown = home.run("reproduce", seed).stdout
    assert f"printed by the kernel:\n    n is {size}, [31m first 0.5\n" in shown
    assert "\x1b" not in shown


def test_a_failed_assert_names_its_function_and_line(home):
    shown = home.run("reproduce", failing_seed(home, "asserts")).stdout
    assert "asserts.cu:3: " in shown and "checked" in shown and "must be NaN" in shown, shown


def test_ptx_newer_than_known_runs_with_a_warning(home):
    done = home.run("test", "newer")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ".version 99.1 is newer than the newest known" in done.stdout + done.stderr
