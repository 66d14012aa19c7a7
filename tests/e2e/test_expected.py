"""What a finding says of an element where the reference has no number."""
import json

CONFIG = """[project]
name = "ones"
[runtime]
backend = "emulator"
[validation]
cases = 64
seed = 3
[[kernels]]
name = "ones"
source = "ones.cu"
reference = "ref.py"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 40] }
launches = [{ entry = "ones", grid = ["1"], block = ["64"], args = ["x", "y", "i32:n"] }]
"""
KERNEL = """extern "C" __global__ void ones(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  if (i < n) y[i] = isfinite(x[i]) ? 1.0f : 2.0f;
}
"""


def test_an_element_that_depends_on_no_nan_says_what_the_reference_holds(new_home, nvcc_program):
    """0 * x + 1 is NaN of infinity, and 1 of every number."""
    home = new_home({"gpuemu.toml": CONFIG, "ones.cu": KERNEL, "ref.py": "def reference(x):\n    return 0 * x + 1\n"})
    run = home.run("test", "--format", "json")
    assert run.returncode == 1, run.stdout + run.stderr
    told = [finding["message"] for op in json.loads(run.stdout)["ops"] for case in op["failures"] for finding in case["failures"]]
    assert told and all("expected 1, got 2" in one for one in told), told
    assert all("; the reference holds nan there, and 1 with other numbers for each NaN and infinity of the inputs" in one for one in told), told
