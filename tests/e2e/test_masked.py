"""NaN and infinity that the op masks are no fault of a kernel; those that it loses are."""
import json

import pytest

KERNELS = r"""
// Scores of the keys up to the query; what comes later is never read.
extern "C" __global__ void causal(const float* q, const float* k, const float* v, float* y, int n, int depth) {
  const int row = blockIdx.x;
  float most = -INFINITY, total = 0.0f;
  float sums[8] = {};
  for (int key = 0; key <= row; ++key) {
    float score = 0.0f;
    for (int i = 0; i < depth; ++i) score += q[row * depth + i] * k[key * depth + i];
    score *= rsqrtf(static_cast<float>(depth));
    const float larger = isnan(score) || isnan(most) ? score + most : fmaxf(most, score);
    const float before = expf(most - larger), p = expf(score - larger);
    total = total * before + p;
    for (int i = 0; i < 8 && i < depth; ++i) sums[i] = sums[i] * before + p * v[key * depth + i];
    most = larger;
  }
  for (int i = 0; i < 8 && i < depth; ++i) y[row * depth + i] = sums[i] / total;
}
// The same with one key too many.
extern "C" __global__ void causal_shifted(const float* q, const float* k, const float* v, float* y, int n, int depth) {
  const int row = blockIdx.x;
  float total = 0.0f, sums[8] = {};
  for (int key = 0; key <= min(row + 1, n - 1); ++key) {
    float score = 0.0f;
    for (int i = 0; i < depth; ++i) score += q[row * depth + i] * k[key * depth + i];
    const float p = expf(score * rsqrtf(static_cast<float>(depth)));
    total += p;
    for (int i = 0; i < 8 && i < depth; ++i) sums[i] += p * v[key * depth + i];
  }
  for (int i = 0; i < 8 && i < depth; ++i) y[row * depth + i] = sums[i] / total;
}
extern "C" __global__ void blur(const float* x, const float* w, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = w[1] * x[i];
  if (i > 0) sum += w[0] * x[i - 1];
  if (i < n - 1) sum += w[2] * x[i + 1];
  y[i] = sum;
}
extern "C" __global__ void relu_masked(const float* x, const float* mask, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = mask[i] > 0.5f ? fmaxf(x[i], 0.0f) : 0.0f;
}
extern "C" __global__ void sigmoid(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float e = expf(x[i]);
  y[i] = e / (1.0f + e);
}
extern "C" __global__ void unit(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fminf(fabsf(x[i]), 1.0f);
}
// Loses a NaN, also beside infinity.
extern "C" __global__ void largest_of_two(const float* x, const float* mask, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i], mask[i]);
}
// inf - inf, which the reference has not.
extern "C" __global__ void moved(const float* x, const float* mask, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + (mask[i] - x[i]) * 0.25f;
}
// The same between numbers: NaN where the reference has one.
extern "C" __global__ void moved_ratio(const float* x, const float* mask, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = expf(x[i]) / (expf(x[i]) + expf(mask[i]));
}
// Welford's mean of a row.
extern "C" __global__ void mean(const float* x, float* y, int n) {
  float mean = 0.0f;
  for (int i = 0; i < n; ++i) mean += (x[blockIdx.x * n + i] - mean) / static_cast<float>(i + 1);
  y[blockIdx.x] = mean;
}
// A weight that the reference, 1 - erf(x), has as 0: infinity where that has 0 * inf.
extern "C" __global__ void weighted(const float* x, const float* mask, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = mask[i] * erfcf(x[i]);
}
// Infinity for the NaN of an input.
extern "C" __global__ void lower(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fminf(x[i], INFINITY);
}
// NaN for the infinity that 1 / 0 is.
extern "C" __global__ void reciprocal(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] == 0.0f ? NAN : 1.0f / x[i];
}
"""
CAUSAL = """import numpy as np


def reference(q, k, v):
    scores = q @ k.T / np.sqrt(q.shape[1])
    scores[np.triu_indices(len(q), 1)] = -np.inf
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p @ v / p.sum(axis=1, keepdims=True)
"""
BLUR = "import numpy as np\n\n\ndef reference(x, w):\n    p = np.concatenate([[0], x, [0]])\n    return p[:-2] * w[0] + p[1:-1] * w[1] + p[2:] * w[2]\n"
QKV = ('inputs = [{ name = "q", shape = ["n", "depth"] }, { name = "k", shape = ["n", "depth"] }, { name = "v", shape = ["n", "depth"] }]\n'
       'outputs = [{ name = "y", shape = ["n", "depth"] }]\ndims = { n = [1, 60], depth = [1, 8] }\n')
QKV_LAUNCH = 'grid = ["n"], block = [1], args = ["q", "k", "v", "y", "i32:n", "i32:depth"]'
PAIR = ('inputs = [{ name = "x", shape = ["n"] }, { name = "mask", shape = ["n"] }]\noutputs = [{ name = "z", shape = ["n"] }]\ndims = { n = [1, 500] }\n')
PAIR_LAUNCH = 'grid = ["cdiv(n, 64)"], block = [64], args = ["x", "mask", "z", "i32:n"]'
ROW = 'inputs = [{ name = "x", shape = ["n"] }]\noutputs = [{ name = "y", shape = ["n"] }]\ndims = { n = [1, 500] }\n'
ROW_LAUNCH = 'grid = ["cdiv(n, 64)"], block = [64], args = ["x", "y", "i32:n"]'
MOVED = "def reference(x, mask):\n    return 0.75 * x + 0.25 * mask\n"
WEIGHTED = "import math\nimport numpy as np\n\n\ndef reference(x, mask):\n    return mask * (1 - np.vectorize(math.erf, otypes=[float])(x))\n"
MEAN = "def reference(x):\n    return x.mean(axis=1)\n"
ROWS = 'inputs = [{ name = "x", shape = ["m", "n"] }]\noutputs = [{ name = "y", shape = ["m"] }]\ndims = { m = [1, 30], n = [1, 100] }\n'
ROWS_LAUNCH = 'grid = ["m"], block = [1], args = ["x", "y", "i32:n"]'

# Name: its schema, reference and launch. Those that end in _match are the kernels without it with that policy.
OPS = {
    "causal": (QKV, CAUSAL, QKV_LAUNCH),
    "causal_match": (QKV + 'nan_policy = "match"\n', CAUSAL, QKV_LAUNCH),
    "causal_shifted": (QKV, CAUSAL, QKV_LAUNCH),
    "blur": ('inputs = [{ name = "x", shape = ["n"] }, { name = "w", shape = ["3"] }]\noutputs = [{ name = "y", shape = ["n"] }]\ndims = { n = [1, 500] }\n', BLUR,
             'grid = ["cdiv(n, 64)"], block = [64], args = ["x", "w", "y", "i32:n"]'),
    "relu_masked": (PAIR, "import numpy as np\n\n\ndef reference(x, mask):\n    return np.maximum(x, 0) * (mask > 0.5)\n",
                    PAIR_LAUNCH),
    "largest_of_two": (PAIR, "import numpy as np\n\n\ndef reference(x, mask):\n    return np.maximum(x, mask)\n", PAIR_LAUNCH),
    "moved": (PAIR, MOVED, PAIR_LAUNCH),
    "moved_match": (PAIR + 'nan_policy = "match"\n', MOVED, PAIR_LAUNCH),
    "moved_ratio": (PAIR, "import numpy as np\n\n\ndef reference(x, mask):\n    return 1 / (1 + np.exp(mask - x))\n", PAIR_LAUNCH),
    "weighted": (PAIR, WEIGHTED, PAIR_LAUNCH),
    "weighted_match": (PAIR + 'nan_policy = "match"\n', WEIGHTED, PAIR_LAUNCH),
    "lower": (ROW, "def reference(x):\n    return x\n", ROW_LAUNCH),
    "mean": (ROWS, MEAN, ROWS_LAUNCH),
    "mean_match": (ROWS + 'nan_policy = "match"\n', MEAN, ROWS_LAUNCH),
    "reciprocal": (ROW, "def reference(x):\n    return 1 / x\n", ROW_LAUNCH),
    "unit": (ROW, "import numpy as np\n\n\ndef reference(x):\n    return np.minimum(np.abs(x), 1)\n", ROW_LAUNCH),
    "sigmoid": (ROW, "import numpy as np\n\n\ndef reference(x):\n    return 1 / (1 + np.exp(-x))\n", ROW_LAUNCH),
}


@pytest.fixture(scope="module")
def project(new_home, nvcc_program):
    files = {"kernels.cu": KERNELS}
    config = '[runtime]\nbackend = "emulator"\nworkers = 1\n[validation]\ncases = 64\n'
    for op, (schema, reference, launch) in OPS.items():
        files[f"ref_{op}.py"] = reference
        config += (f'[[kernels]]\nname = "{op}"\nsource = "kernels.cu"\nreference = "ref_{op}.py"\n{schema}'
                   f'launches = [{{ entry = "{op.removesuffix("_match")}", {launch} }}]\n')
    files["gpuemu.toml"] = config
    return new_home(files)


def report_of(project, op, *flags):
    tested = project.run("test", op, "--seed", "5", "--format", "json", *flags, timeout=600)
    assert tested.returncode in (0, 1), tested.stdout + tested.stderr
    return json.loads(tested.stdout)["ops"][0]


def messages(report):
    return [finding["message"] for case in report["failures"] for finding in case["failures"]]


@pytest.mark.parametrize("op", ["causal", "blur"])
def test_what_a_reference_multiplies_by_zero_is_not_lost(project, op):
    report = report_of(project, op)
    assert not report["failed"], messages(report)
    assert report["relations"]["masked"] >= 1 and any("0 * NaN is NaN" in note for note in report["notes"]), report
    assert any("nan_lost" in text for text in messages(report_of(project, op, "--strict")))


def test_a_written_policy_holds_for_masked_elements_too(project):
    assert any("nan_lost" in text for text in messages(report_of(project, "causal_match")))


@pytest.mark.parametrize("op, kind", [("causal_shifted", "ToleranceExceeded"), ("relu_masked", "NaNDetected"), ("unit", "NaNDetected"), ("largest_of_two", "NaNDetected")])
def test_what_a_kernel_loses_or_mixes_up_is_found(project, op, kind):
    report = report_of(project, op)
    assert kind in {finding["kind"] for case in report["failures"] for finding in case["failures"]}, report


@pytest.mark.parametrize("op", ["moved", "mean"])
def test_formulas_that_are_equal_for_numbers_may_have_nan_for_infinity(project, op):
    report = report_of(project, op)
    assert not report["failed"], messages(report)
    assert any("inf - inf" in note for note in report["notes"]), report
    told = [messages(report_of(project, *call)) for call in ((op, "--strict"), (op + "_match",))]
    assert all(any("nan_created" in text and 'nan_policy = "class"' in text for text in texts) for texts in told), told


def test_infinity_for_the_nan_of_a_product_with_zero_passes(project):
    report = report_of(project, "weighted")
    assert not report["failed"], messages(report)
    assert any("0 * inf" in note for note in report["notes"]), report
    told = [messages(report_of(project, *call)) for call in (("weighted", "--strict"), ("weighted_match",))]
    assert all(any("nan_lost" in text and 'nan_policy = "class"' in text for text in texts) for texts in told), told


def test_infinity_for_the_nan_of_an_input_is_found(project):
    assert any("nan_lost" in text for text in messages(report_of(project, "lower")))


@pytest.mark.parametrize("op", ["moved_ratio", "reciprocal"])
def test_nan_for_a_number_or_for_an_infinity_of_numbers_is_found(project, op):
    assert any("nan_created" in text for text in messages(report_of(project, op)))


def test_an_overflow_names_the_range_that_would_keep_it_out(project):
    told = [finding["diagnosis"]["note"] for case in report_of(project, "sigmoid")["failures"] for finding in case["failures"] if finding.get("diagnosis")]
    assert any("'x' has values up to" in text and "`range` for it" in text for text in told), told
