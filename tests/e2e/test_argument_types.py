"""Tensors whose dtype does not fit the type of the kernel's parameter."""
import pytest

KERNEL = """__global__ void pick(const float* t, const int* at, float* y, int n) {
  int i = blockIdx.x * 128 + threadIdx.x;
  if (i < n) y[i] = t[at[i]];
}
"""
CONFIG = """[[kernels]]
name = "pick"
source = "pick.cu"
reference = "pick.py"
inputs = [{ name = "t", shape = [8], dtype = "float32" }, { name = "at", shape = ["n"], dtype = "DTYPE", range = [0, 7] }]
outputs = [{ name = "y", shape = ["n"], dtype = "float32" }]
dims = { n = [1, 300] }
launches = [{ entry = "pick", grid = ["cdiv(n, 128)"], block = [128], args = ["t", "at", "y", "i32:n"] }]
"""


@pytest.mark.parametrize("dtype, code", [("int64", 1), ("int32", 0), ("uint32", 0)])
def test_elements_wider_than_what_the_kernel_takes_are_a_warning_that_names_the_dtype(new_home, dtype, code):
    home = new_home({"pick.cu": KERNEL, "pick.py": "def reference(t, at):\n    return t[at]\n", "gpuemu.toml": CONFIG.replace("DTYPE", dtype)})
    run = home.run("test", "--cases", 12, "--seed", 1)
    said = "warning: pick: 'at' has dtype int64, but pick takes it as int const*; declare it with dtype \"int32\""
    assert run.returncode == code and (said in run.stderr) == (code == 1), run.stdout + run.stderr
    assert ("takes it as" in run.stderr) == (code == 1)
