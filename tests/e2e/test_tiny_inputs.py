"""Inputs whose squares are 0 in float32: what a comparison with them decides is not judged, and the report says so."""
import json

KERNEL = """extern "C" __global__ void apart(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i] > 0.0f ? 1.0f : 0.0f;
}
"""
CONFIG = """[runtime]
backend = "emulator"
[[kernels]]
name = "apart"
source = "apart.cu"
reference = "apart.py"
inputs = [{ name = "x", shape = ["n"], range = [0.0, 2.0] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [64, 64] }
launches = [{ entry = "apart", grid = [1], block = [64], args = ["x", "y", "i32:n"] }]
"""


def test_a_comparison_that_underflow_decides_is_not_judged_and_said_to_be(new_home):
    home = new_home({"apart.cu": KERNEL, "apart.py": "def reference(x):\n    return (x != 0).astype(float)\n", "gpuemu.toml": CONFIG})
    tiny = ("--strategy", "subnormal", "--cases", 4, "--seed", 1)
    tested = home.run("test", "apart", *tiny, "--format", "json")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    notes = json.loads(tested.stdout)["ops"][0]["notes"]
    assert any("below 2^-116 were not judged" in note for note in notes), notes
    ordinary = home.run("test", "apart", "--strategy", "normal", "--cases", 4, "--seed", 1)
    assert ordinary.returncode == 0 and "not judged" not in ordinary.stdout, ordinary.stdout
    strict = home.run("test", "apart", *tiny, "--strict")
    assert strict.returncode == 1 and "ToleranceExceeded" in strict.stdout, strict.stdout
    (home.project / "apart.cu").write_text(KERNEL.replace("> 0.0f", "> 1.0f"))
    assert home.run("test", "apart", "--cases", 24, "--seed", 1).returncode == 1
