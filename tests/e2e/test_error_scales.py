"""How large errors may be is said for each output; what nothing explains fails, and under --strict what conditioning explains does too."""
import json

import pytest

KERNELS = r"""
// A sequence of additions: its error is one of the terms, not of the result, which may cancel.
__device__ float sum_of(const float* x, int cols) {
  float sum = 0.0f;
  for (int c = 0; c < cols; ++c) sum += x[c];
  return sum;
}
extern "C" __global__ void sums(const float* x, float* s, float* y, int* positive, int cols) {
  x += blockIdx.x * cols;
  int count = 0;
  for (int c = 0; c < cols; ++c) {
    y[blockIdx.x * cols + c] = 2.0f * x[c];
    count += x[c] > 0.0f;
  }
  s[blockIdx.x] = sum_of(x, cols);
  positive[blockIdx.x] = count;
}
extern "C" __global__ void plain(const float* x, float* s, int cols) { s[blockIdx.x] = sum_of(x + blockIdx.x * cols, cols); }
extern "C" __global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], 0.0f);
}
"""
SUMS = """import numpy as np


def reference(x, **kwargs):
    return x.sum(1), 2 * x, (x > 0).sum(1)
"""
SOME = """

def error_scale(x, **kwargs):
    return {"s": np.abs(x).sum(1)}
"""
PLAIN = "def reference(x, **kwargs):\n    return x.sum(1)\n"
RELU = "import numpy as np\n\n\ndef reference(x, **kwargs):\n    return np.maximum(x, 0)\n"
ROWS = 'inputs = [{ name = "x", shape = ["rows", "cols"] }]\ndims = { rows = [2, 8], cols = [500, 2000] }\n'
THREE = ROWS + 'outputs = [{ name = "s", shape = ["rows"] }, { name = "y", shape = ["rows", "cols"] }, { name = "positive", shape = ["rows"], dtype = "int32" }]\n'
ONE = ROWS + 'outputs = [{ name = "s", shape = ["rows"] }]\n'
SUMS_LAUNCH = 'launches = [{ entry = "sums", grid = ["rows"], block = [1], args = ["x", "s", "y", "positive", "i32:cols"] }]\n'
PLAIN_LAUNCH = 'launches = [{ entry = "plain", grid = ["rows"], block = [1], args = ["x", "s", "i32:cols"] }]\n'

# Name of the op: its reference, and the rest of its table.
OPS = {
    "undeclared": (SUMS, THREE + SUMS_LAUNCH + "strict = true\n"),
    "one_output": (SUMS, THREE + SUMS_LAUNCH + 'strict = true\naccumulate = "cols"\nerror_scale = { s = "sum" }\n'),
    "by_function": (SUMS + SOME, THREE + SUMS_LAUNCH + 'strict = true\naccumulate = "cols"\n'),
    "misfit": (SUMS, THREE + SUMS_LAUNCH + 'error_scale = { y = "matmul" }\n'),
    "plain": (PLAIN, ONE + PLAIN_LAUNCH),
    "relu": (RELU, 'inputs = [{ name = "x", shape = ["n"] }]\noutputs = [{ name = "y", shape = ["n"] }]\ndims = { n = [2, 200] }\n'
             'launches = [{ entry = "relu", grid = ["cdiv(n, 64)"], block = [64], args = ["x", "y", "i32:n"] }]\n'),
}


@pytest.fixture(scope="module")
def project(new_home):
    files = {"kernels.cu": KERNELS}
    config = '[runtime]\nbackend = "emulator"\nworkers = 1\n[validation]\ncases = 12\nseed = 5\nstrategies = ["normal", "uniform10"]\n'
    for op, (reference, table) in OPS.items():
        files[f"ref_{op}.py"] = reference
        config += f'[[kernels]]\nname = "{op}"\nsource = "kernels.cu"\nreference = "ref_{op}.py"\n{table}'
    files["gpuemu.toml"] = config
    return new_home(files)


def report_of(project, op, *flags):
    tested = project.run("test", op, "--format", "json", *flags, timeout=600)
    assert tested.returncode in (0, 1), tested.stdout + tested.stderr
    return json.loads(tested.stdout)["ops"][0]


def messages(report):
    return [finding["message"] for case in report["failures"] for finding in case["failures"]]


def test_a_sum_that_says_nothing_fails_where_only_the_bound_counts(project):
    report = report_of(project, "undeclared")
    assert report["failed"] >= 1 and all(text.startswith("s: ") for text in messages(report)), report


@pytest.mark.parametrize("op", ["one_output", "by_function"])
def test_one_output_has_a_scale_and_the_others_need_none(project, op):
    report = report_of(project, op)
    assert report["cases"] == 12 and report["failed"] == 0, messages(report)


def test_a_scale_that_does_not_apply_says_so(project):
    report = report_of(project, "misfit")
    assert report["failed"] == 0, messages(report)
    [note] = [note for note in report["notes"] if "does not apply" in note]
    assert "error_scale 'matmul' does not apply to output 'y'" in note and "no two inputs multiply to its shape" in note


def test_relu_that_loses_a_nan_names_the_one_key_that_allows_it(project):
    found = messages(report_of(project, "relu", "--strategy", "one_nan"))
    assert found and all('nan_policy = "any"' in text for text in found), found


def test_fuzz_and_ci_are_strict_on_demand(project):
    assert project.run("fuzz", "plain", "-i", "12", "--seed", "5").returncode == 0
    strict = project.run("fuzz", "plain", "-i", "12", "--seed", "5", "--strict")
    assert strict.returncode == 1 and "judged by the bound alone, as `strict` demands" in strict.stdout, strict.stdout
    # What passed before is not taken for a pass of the strict run.
    for flags, status in ([], 0), (["--strict"], 1), ([], 0):
        run = project.run("ci", "--quick", "--seed", "5", "--format", "json", *flags, timeout=600)
        failed = {one["op_name"] for one in json.loads(run.stdout)["validation_results"] if not one["passed"]}
        assert ("plain" in failed) == bool(status), (run.stdout[:2000], run.stderr)
