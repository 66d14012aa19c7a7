"""What reports say of a source that one compiler takes and the other refuses."""
import json

import pytest

from test_run_nvrtc import needs_nvrtc

SOURCE = """#include <vector>
struct Scale {
  float by;
  __device__ float of(float x) const { return by * x; }
  float twice(float x) const { return 2 * by * x; }
};
extern "C" __global__ void scale(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const Scale by{1.5f};
  if (i < n) y[i] = by.CALLED(x[i])HALF;
}
std::vector<float> host(float* x) { return {x, x + 1}; }
"""
CONFIG = """[[kernels]]
name = "scale"
source = "scale.cu"
reference = "scale.py"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }]
dims = { n = [1, 300] }
launches = [{ entry = "scale", grid = "cdiv(n, 128)", block = 128, args = ["x", "y", "i32:n"] }]
"""


def project(new_home, called, half):
    return new_home({"gpuemu.toml": CONFIG, "scale.py": "def reference(x):\n    return 1.5 * x\n",
                     "scale.cu": SOURCE.replace("CALLED", called).replace("HALF", half)})


def notes_of(own, *words):
    done = own.run(*words, "--seed", "1", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    return report["ops"][0].get("notes", []) if "ops" in report else report.get("notes", [])


@needs_nvrtc
@pytest.mark.parametrize("words", [["test", "--cases", "4"], ["fuzz", "--op", "scale", "-i", "40"],
                                   ["fuzz", "--op", "scale", "-i", "40", "--unguided"]])
def test_functions_without_device_that_a_kernel_calls_are_told_in_each_report(new_home, words):
    own = project(new_home, "twice", "/ 2")
    for _ in range(2):
        (note,) = notes_of(own, *words)
        assert note.startswith("warning: ") and "scale.cu: kernels use twice (line 5) without __device__" in note
        assert "nvcc refuses that" in note
        own.stop()  # The next one finds the PTX in the cache.
    assert "without __device__" in own.run("test", "--cases", "4").stdout


@needs_nvrtc
def test_functions_that_no_kernel_calls_are_not_told(new_home):
    assert notes_of(project(new_home, "of", ""), "test", "--cases", "4") == []
