"""Sizes that fit together only in some combinations, and outputs with their own nan_policy."""
import json
import re

import pytest

KERNELS = """extern "C" __global__ void valid(const float* x, const float* w, float* y, int k, int s, int out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= out) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += x[i * s + j] * w[j];
  y[i] = sum;
}
extern "C" __global__ void copies(const float* x, float* y, float* z, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = x[i];
  z[i] = x[i] == x[i] ? x[i] : 0.0f;
}
"""
VALID = """[[kernels]]
name = "valid"
source = "k.cu"
reference = "valid.py"
inputs = [{ name = "x", shape = ["n"] }, { name = "w", shape = ["k"] }]
outputs = [{ name = "y", shape = ["out"] }]
dims = { n = [1, 200], k = [1, 9], out = "(n - k) / s + 1" }
attrs = { s = { type = "int32", values = [1, 3] } }
require = "n >= k"
accumulate = "k"
launches = [{ entry = "valid", grid = "cdiv(out, 64)", block = 64, args = ["x", "w", "y", "i32:k", "i32:s", "i32:out"] }]
"""
COPIES = """[[kernels]]
name = "copies"
source = "k.cu"
reference = "copies.py"
inputs = [{ name = "x", shape = ["n"] }]
outputs = [{ name = "y", shape = ["n"] }, { name = "z", shape = ["n"]POLICY }]
dims = { n = [1, 200] }
launches = [{ entry = "copies", grid = "cdiv(n, 64)", block = 64, args = ["x", "y", "z", "i32:n"] }]
"""
REFERENCES = {
    "valid.py": "import numpy as np\n\n\ndef reference(x, w, s):\n    return np.lib.stride_tricks.sliding_window_view(x, len(w))[::s] @ w\n",
    "copies.py": "def reference(x):\n    return x, x\n",
}


@pytest.fixture(scope="module")
def home(new_home):
    return new_home({"gpuemu.toml": "", "k.cu": KERNELS, **REFERENCES})


def run(home, config, *words):
    (home.project / "gpuemu.toml").write_text("[validation]\nseed = 3\n" + config)
    return home.run("test", *words)


def test_sizes_that_do_not_go_together_become_others(home):
    done = run(home, VALID, "--cases", 60)
    assert done.returncode == 0 and "[PASS] valid float32 60 cases" in done.stdout, done.stdout + done.stderr
    # This kernel is wrong only where the window just fits; repaired sizes must reach that.
    (home.project / "k.cu").write_text(KERNELS.replace("y[i] = sum;", "y[i] = out == 1 ? 0 : sum;"))
    failing = run(home, VALID, "--cases", 60, "--format", "json")
    (home.project / "k.cu").write_text(KERNELS)
    found = [case["repro_info"]["dims"] for case in json.loads(failing.stdout)["ops"][0]["failures"]]
    assert found and all(dims["n"] >= dims["k"] and dims["out"] == 1 for dims in found), found
    assert any(dims["n"] == dims["k"] > 1 for dims in found), found


def test_minimizing_keeps_what_is_required(home):
    (home.project / "k.cu").write_text(KERNELS.replace("j < k", "j < k - (k > 2)"))
    assert run(home, VALID, "--cases", 20).returncode == 1
    done = home.run("minimize", "last", "--format", "json")
    (home.project / "k.cu").write_text(KERNELS)
    dims = json.loads(done.stdout)["minimized_dims"]
    assert dims["k"] == 3 and dims["n"] >= 3, dims


def test_what_no_sizes_satisfy_is_an_error_that_says_so(home):
    done = run(home, VALID.replace("n >= k", "n > 500"))
    assert done.returncode == 2 and "kernels[0].require: no sizes in dims satisfy it" in done.stderr, done.stderr
    unknown = run(home, VALID.replace("n >= k", "n >= kk"))
    assert unknown.returncode == 2 and re.search(r"gpuemu.toml:\d+:\d+: kernels\[0\].require: .*unknown name 'kk'", unknown.stderr), unknown.stderr


def test_the_largest_cases_keep_to_it_too(home):
    large = VALID.replace("n = [1, 200], k = [1, 9]", "n = [1, 60000], k = [1, 40000]").replace('accumulate = "k"\n', 'accumulate = "k"\nmax_elements = 5000\n')
    done = run(home, large, "--cases", 12)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_output_has_a_policy_of_its_own(home):
    nan = '[validation]\nseed = 3\nstrategies = ["one_nan"]\n'
    for policy, code in (("", 1), (', nan_policy = "any"', 0), (', nan_policy = "match"', 1)):
        (home.project / "gpuemu.toml").write_text(nan + COPIES.replace("POLICY", policy))
        done = home.run("test", "--cases", 8)
        assert done.returncode == code, done.stdout + done.stderr
        assert (code == 1) == ("NaNDetected" in done.stdout), done.stdout
    assert "z: " in done.stdout and "y: " not in done.stdout, done.stdout


def test_an_exported_case_goes_by_the_policy_of_each_output(home):
    (home.project / "gpuemu.toml").write_text('[validation]\nseed = 3\nstrategies = ["one_nan"]\n' + COPIES.replace("POLICY", ', nan_policy = "any"'))
    (home.project / "k.cu").write_text(KERNELS.replace("y[i] = x[i];", "y[i] = i == 0 ? 5.0f : x[i];"))
    assert home.run("test", "--cases", 4, "--seed", "1").returncode == 1
    assert home.run("export", "last", "-o", "case").returncode == 0
    (home.project / "k.cu").write_text(KERNELS)
    case = json.loads((home.project / "case/case.json").read_text())
    assert case["nan_policy"] == "match"
    assert {tensor["name"]: tensor.get("nan_policy") for tensor in case["tensors"]} == {"x": None, "y": None, "z": "any"}
