"""Numbers that a launch passes are values that inputs meet, as those in the kernel's code are."""
import json

import pytest

KERNELS = r"""
extern "C" __global__ void shrink(const float* x, float* y, int n, float limit) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] >= limit ? x[i] : isnan(x[i]) ? x[i] : 0.0f;
}
extern "C" __global__ void skip(const int* id, const int* x, int* y, int n, int last) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = id[i] > last ? x[i] : 0;
}
"""
ROW = 'outputs = [{ name = "y", shape = ["n"] }]\ndims = { n = [1, 2000] }\n'
X = 'inputs = [{ name = "x", shape = ["n"] }]\n'
ID = 'inputs = [{ name = "id", shape = ["n"], dtype = "int32" }, { name = "x", shape = ["n"], dtype = "int32" }]\n'
# The kernel and the reference differ for the number itself alone.
OPS = {
    "literal": ("shrink", X + ROW, "np.where(np.isnan(x), x, np.where(x > 2.296875, x, 0))", '"x", "y", "i32:n", "f32:2.296875"'),
    "attr": ("shrink", X + ROW + "attrs = { limit = { values = [3.390625, 7.265625] } }\n",
             "np.where(np.isnan(x), x, np.where(x > limit, x, 0))", '"x", "y", "i32:n", "f32:limit"'),
    "integer": ("skip", ID + ROW.replace('["n"] }', '["n"], dtype = "int32" }'), "np.where(id >= 50256, x, 0)", '"id", "x", "y", "i32:n", "i32:50256"'),
}


@pytest.fixture(scope="module")
def project(new_home, nvcc_program):
    files = {"kernels.cu": KERNELS}
    config = '[runtime]\nbackend = "emulator"\nworkers = 1\n'
    for op, (entry, schema, value, args) in OPS.items():
        files[f"ref_{op}.py"] = f"import numpy as np\n\n\ndef reference(x, id=None, limit=None):\n    return {value}\n"
        config += (f'[[kernels]]\nname = "{op}"\nsource = "kernels.cu"\nreference = "ref_{op}.py"\n{schema}'
                   f'launches = [{{ entry = "{entry}", grid = ["cdiv(n, 128)"], block = [128], args = [{args}] }}]\n')
    return new_home({**files, "gpuemu.toml": config})


def test_a_comparison_that_is_wrong_for_one_argument_is_found(project):
    for seed in (1, 2, 3):
        report = json.loads(project.run("test", "--cases", "24", "--seed", str(seed), "--format", "json").stdout)
        assert {one["op_name"]: one["failed"] > 0 for one in report["ops"]} == dict.fromkeys(OPS, True), seed
