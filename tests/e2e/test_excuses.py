"""What is no fault of a kernel is not blamed on it, and what is has the right reason: results too small for their type, integers of a NaN, inputs that nobody reads."""
import json

import pytest

KERNELS = r"""
// eps keeps the division finite, and makes what was rounded to nothing 1e8 times as large.
template <int kind>
__device__ void step(float* p, const float* g, float* m, float* v, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float a = 0.9f * m[i] + (kind == 2 ? 0.11f : 0.1f) * g[i], b = 0.999f * v[i] + 0.001f * g[i] * g[i];
  m[i] = a;
  v[i] = b;
  p[i] -= kind == 1 ? 0.01f * a / sqrtf(b + 1e-8f) : 0.01f * a / (sqrtf(b) + 1e-8f);
}
extern "C" __global__ void adam(float* p, const float* g, float* m, float* v, int n) { step<0>(p, g, m, v, n); }
extern "C" __global__ void adam_eps_inside(float* p, const float* g, float* m, float* v, int n) { step<1>(p, g, m, v, n); }
extern "C" __global__ void adam_constant(float* p, const float* g, float* m, float* v, int n) { step<2>(p, g, m, v, n); }

// A NaN is none of the values that the scale is made of; as an integer it is what the chip makes of it.
__device__ void rows(const float* x, signed char* q, float* scale, int cols, float round) {
  x += blockIdx.x * cols;
  float most = 1e-8f;
  for (int c = 0; c < cols; ++c) most = isnan(x[c]) || isnan(most) ? x[c] + most : fmaxf(most, fabsf(x[c]));
  scale[blockIdx.x] = most / 127.0f;
  for (int c = 0; c < cols; ++c)
    q[blockIdx.x * cols + c] = static_cast<signed char>(static_cast<int>(rintf(x[c] / (most / 127.0f) + round)));
}
extern "C" __global__ void quantize(const float* x, signed char* q, float* scale, int cols) { rows(x, q, scale, cols, 0.0f); }
extern "C" __global__ void quantize_up(const float* x, signed char* q, float* scale, int cols) { rows(x, q, scale, cols, 1.0f); }

extern "C" __global__ void greatest(const float* x, float* y, int* index, int cols) {
  int best = 0;
  for (int c = 1; c < cols; ++c)
    if (x[blockIdx.x * cols + c] > x[blockIdx.x * cols + best]) best = c;
  y[blockIdx.x] = x[blockIdx.x * cols + best];
  index[blockIdx.x] = best;
}

// Takes x and never reads it; beyond the first block the numbers repeat.
extern "C" __global__ void scrambled(const float* x, unsigned* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = (threadIdx.x + 1) * 747796405u;
}
__device__ float kept[256];
__device__ int kept_count;
extern "C" __global__ void remembers(const float* x, float* y, int n) {
  const bool known = kept_count == n;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (!known) kept[i] = 2.0f * x[i];
    y[i] = kept[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) kept_count = n;
}
"""

ADAM = """import numpy as np


def reference(p, g, m, v, **kwargs):
    a = float(np.float32(0.9)) * m + float(np.float32(0.1)) * g
    b = float(np.float32(0.999)) * v + float(np.float32(0.001)) * g * g
    return {"p": p - float(np.float32(0.01)) * a / (np.sqrt(b) + float(np.float32(1e-8))), "m": a, "v": b}


def error_scale(p, g, m, v, **kwargs):
    b = float(np.float32(0.999)) * v + float(np.float32(0.001)) * g * g
    most = np.abs(m) + np.abs(g)
    return {"p": np.abs(p) + most / (np.sqrt(b) + 1e-8), "m": most, "v": b}
"""
QUANTIZE = """import numpy as np


def reference(x, **kwargs):
    x = x.astype(np.float32)
    scale = (np.maximum(np.abs(x).max(-1), np.float32(1e-8)) / np.float32(127)).astype(np.float32)
    return {"q": np.rint((x / scale[:, None]).astype(np.float32)).astype(np.int64), "scale": scale}
"""
ADAM_SCHEMA = ('inputs = [{ name = "p", shape = ["n"], range = [-2, 2] }, { name = "g", shape = ["n"], range = [-2, 2] }, '
               '{ name = "m", shape = ["n"], range = [-1, 1] }, { name = "v", shape = ["n"], range = [0, 1] }]\n'
               'outputs = [{ name = "p", shape = ["n"], inout = true }, { name = "m", shape = ["n"], inout = true }, { name = "v", shape = ["n"], inout = true }]\n'
               'dims = { n = [1, 500] }\n')
ADAM_LAUNCH = 'grid = ["cdiv(n, 64)"], block = [64], args = ["p", "g", "m", "v", "i32:n"]'
ROWS = 'inputs = [{ name = "x", shape = ["rows", "cols"], range = [-8, 8] }]\ndims = { rows = [2, 8], cols = [2, 60] }\n'
Q = 'outputs = [{ name = "q", shape = ["rows", "cols"], dtype = "int8" }, { name = "scale", shape = ["rows"] }]\n'
Q_LAUNCH = 'grid = ["rows"], block = [1], args = ["x", "q", "scale", "i32:cols"]'
TOP = 'outputs = [{ name = "y", shape = ["rows"] }, { name = "index", shape = ["rows"], dtype = "int32" }]\n'
TOP_LAUNCH = 'grid = ["rows"], block = [1], args = ["x", "y", "index", "i32:cols"]'
FLAT = 'inputs = [{ name = "x", shape = ["n"] }]\n'

# Name of the op: its schema, the reference, the launch, the value strategy.
OPS = {
    "adam": (ADAM_SCHEMA, ADAM, ADAM_LAUNCH, "subnormal"),
    "adam_eps_inside": (ADAM_SCHEMA, ADAM, ADAM_LAUNCH, "subnormal"),
    "adam_constant": (ADAM_SCHEMA, ADAM, ADAM_LAUNCH, "subnormal"),
    "quantize": (ROWS + Q, QUANTIZE, Q_LAUNCH, "one_nan"),
    "quantize_up": (ROWS + Q, QUANTIZE, Q_LAUNCH, "one_nan"),
    "greatest": (ROWS + TOP.replace('name = "y"', 'name = "y", nan_policy = "any"'), "def reference(x, **kwargs):\n    return x.max(-1), x.argmax(-1)\n", TOP_LAUNCH, "one_nan"),
    "greatest_matched": (ROWS + TOP + 'nan_policy = "match"\n', "def reference(x, **kwargs):\n    return x.max(-1), x.argmax(-1)\n", TOP_LAUNCH, "one_nan"),
    "scrambled": (FLAT + 'outputs = [{ name = "y", shape = ["n"], dtype = "uint32" }]\ndims = { n = [200, 300] }\n',
                  "import numpy as np\n\n\ndef reference(x, n, **kwargs):\n    return (np.arange(n) + 1) * 747796405 % 2**32\n",
                  'grid = ["cdiv(n, 64)"], block = [64], args = ["x", "y", "i32:n"]', "normal"),
    "remembers": (FLAT + 'outputs = [{ name = "y", shape = ["n"] }]\ndims = { n = [200, 200] }\n', "def reference(x, **kwargs):\n    return 2 * x\n",
                  'grid = [1], block = [64], args = ["x", "y", "i32:n"]', "normal"),
}
ENTRY = {"greatest_matched": "greatest"}


@pytest.fixture(scope="module")
def project(new_home):
    files = {"kernels.cu": KERNELS}
    config = '[runtime]\nbackend = "emulator"\nworkers = 1\n[validation]\ncases = 6\nseed = 5\n'
    for op, (schema, reference, launch, _) in OPS.items():
        files[f"ref_{op}.py"] = reference
        config += f'[[kernels]]\nname = "{op}"\nsource = "kernels.cu"\nreference = "ref_{op}.py"\n{schema}'
        config += f'launches = [{{ entry = "{ENTRY.get(op, op)}", {launch} }}]\n'
    files["gpuemu.toml"] = config
    return new_home(files)


def report_of(project, op):
    """The report on one op, with values of its strategy alone."""
    config = project.project / "gpuemu.toml"
    text = config.read_text()
    config.write_text(text.replace("cases = 6\n", f'cases = 6\nstrategies = ["{OPS[op][3]}"]\n'))
    tested = project.run("test", op, "--format", "json", timeout=600)
    config.write_text(text)
    assert tested.returncode in (0, 1), tested.stdout + tested.stderr
    return json.loads(tested.stdout)["ops"][0]


def findings(report):
    return [finding for case in report["failures"] for finding in case["failures"]]


def test_what_results_too_small_for_their_type_lose_is_rounding(project):
    report = report_of(project, "adam")
    assert report["failed"] == 0, findings(report)
    assert report["relations"]["underflow"] >= 1 and any("results too small for their type" in note for note in report["notes"]), report


@pytest.mark.parametrize("op", ["adam_eps_inside", "adam_constant"])
def test_another_formula_is_found_among_the_smallest_numbers_too(project, op):
    report = report_of(project, op)
    assert report["failed"] >= 3 and {f["kind"] for f in findings(report)} == {"ToleranceExceeded"}, report


def test_the_integers_of_a_nan_are_not_compared_and_the_report_says_so(project):
    report = report_of(project, "quantize")
    assert report["failed"] == 0, findings(report)
    assert report["relations"]["undefined_integers"] == 6 and any("integers were not compared" in note for note in report["notes"]), report
    assert report_of(project, "greatest")["failed"] == 0


def test_the_other_integers_of_the_case_are_compared(project):
    report = report_of(project, "quantize_up")
    assert report["failed"] == 6 and all("-9223372036854775808" not in f["message"] for f in findings(report)), findings(report)


def test_where_nan_has_to_match_the_message_names_it(project):
    found = [f["message"] for f in findings(report_of(project, "greatest_matched")) if f["message"].startswith("index: ")]
    assert found and all("is an integer made of 'y', which is nan there" in text and 'nan_policy = "any"' in text for text in found), found


def test_a_kernel_that_reads_no_input_is_not_said_to_keep_results(project):
    found = findings(report_of(project, "scrambled"))
    assert {f["kind"] for f in found} == {"ToleranceExceeded"}, found
    assert any("is the same for other inputs: what the kernel writes there does not depend on them" in f["message"] for f in found), found


def test_a_kernel_that_keeps_results_is(project):
    found = findings(report_of(project, "remembers"))
    assert any(f["kind"] == "StaleOutput" and "keeps results between launches" in f["message"] for f in found), found
