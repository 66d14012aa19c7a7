"""`distinct` and `sorted`: places that a kernel writes to, and where the rows of a sparse matrix begin."""
import json

import pytest

SOURCE = """extern "C" __global__ void place(const float* x, const int* slot, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[slot[i]] = x[i];
}
extern "C" __global__ void sums(const int* begin, const int* column, const float* value, const float* x, float* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int e = begin[row]; e < begin[row + 1]; ++e) sum += value[e] * x[column[e]];
  y[row] = sum;
}
"""
PLACE = """[[kernels]]
name = "place"
source = "k.cu"
reference = "place.py"
inputs = [{ name = "x", shape = ["n"] }, { name = "slot", shape = ["n"], dtype = "int32", range = [0, "m - 1"]RULE }, { name = "y", shape = ["m"] }]
outputs = [{ name = "y", inout = true }]
dims = { n = [1, 60], m = [1, 80] }
launches = [{ entry = "place", grid = "cdiv(n, 32)", block = 32, args = ["x", "slot", "y", "i32:n"] }]
"""
SUMS = """[[kernels]]
name = "sums"
source = "k.cu"
reference = "sums.py"
inputs = [{ name = "begin", shape = ["rows + 1"], dtype = "int32", range = [0, "stored"]RULE }, { name = "column", shape = ["stored"], dtype = "int32", range = [0, "cols - 1"] },
          { name = "value", shape = ["stored"] }, { name = "x", shape = ["cols"] }]
outputs = [{ name = "y", shape = ["rows"] }]
dims = { rows = [1, 40], cols = [1, 40], stored = [1, 90] }
launches = [{ entry = "sums", grid = "cdiv(rows, 32)", block = 32, args = ["begin", "column", "value", "x", "y", "i32:rows"] }]
"""
REFERENCES = {
    "place.py": "def reference(x, slot, y):\n    y = y.copy()\n    y[slot] = x\n    return y\n",
    "sums.py": "import numpy as np\ndef reference(begin, column, value, x):\n    terms = value * x[column]\n"
               "    return np.array([terms[a:b].sum() for a, b in zip(begin, begin[1:])])\n",
}


def files(config, rule):
    return {"k.cu": SOURCE, "gpuemu.toml": config.replace("RULE", rule), **REFERENCES}


@pytest.mark.parametrize("config, rule", [(PLACE, ", distinct = true"), (SUMS, ", sorted = true")])
def test_with_the_rule_a_right_kernel_passes(new_home, config, rule):
    run = new_home(files(config, rule)).run("test", "--cases", 48, "--seed", 3, "--format", "json")
    [op] = json.loads(run.stdout)["ops"]
    assert run.returncode == 0 and op["cases"] == 48, run.stdout
    assert op["failed"] == 0


def test_without_it_two_threads_write_to_one_place(new_home):
    run = new_home(files(PLACE, "")).run("test", "--cases", 24, "--seed", 3)
    assert run.returncode == 1 and "DataRace" in run.stdout, run.stdout


def test_minimizing_keeps_the_rule(new_home):
    """Simpler indices would be equal ones, and fail for another reason."""
    home = new_home({**files(PLACE, ", distinct = true"), "k.cu": SOURCE.replace("y[slot[i]] = x[i];", "y[slot[i]] = x[i] + (i == 3);")})
    run = home.run("test", "--cases", 24, "--seed", 3)
    assert run.returncode == 1 and "DataRace" not in run.stdout, run.stdout
    small = home.run("minimize", "last")
    assert "ToleranceExceeded" in small.stdout and "DataRace" not in small.stdout, small.stdout + small.stderr
