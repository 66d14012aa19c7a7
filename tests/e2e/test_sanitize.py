"""Every value of `sanitize` alone, from gpuemu.toml to the report: it finds its fault, and [] does not look for it."""
import json

import pytest

KERNELS = r"""
extern "C" __global__ void divides(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 7 / (x[i] % 3);  // division
}
extern "C" __global__ void shares(const int* x, int* y, int n) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0;
  __syncwarp();
  if (threadIdx.x < n) y[threadIdx.x] = tile[63 - threadIdx.x];  // race_shared
}
extern "C" __global__ void collides(const int* x, int* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] += 1 + blockIdx.x;  // race_global
}
extern "C" __global__ void forgets(const int* x, int* y, int n) {
  __shared__ int tile[64];
  if (threadIdx.x > 63) tile[threadIdx.x] = 1;
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = tile[threadIdx.x];  // init
}
extern "C" __global__ void masks(const int* x, int* y, int n) {
  int v = threadIdx.x;
  if (threadIdx.x < 16) v = __shfl_sync(0xffffu << 8, v, 9);  // sync
  if (threadIdx.x < n) y[threadIdx.x] = v;
}
extern "C" __global__ void overflows(const float* x, float* y, int n) {
  const int i = threadIdx.x;
  const float big = 3e38f + 0.0f * x[i % n];
  if (i < n) y[i] = big * 10.0f;  // nonfinite
}
"""


def op(name, dtype, launch):
    return f"""
[[ops]]
name = "{name}"
kernel = "{name}"
reference = "ref.py"
inputs = [{{ name = "x", shape = ["n"], dtype = "{dtype}" }}]
outputs = [{{ name = "y", shape = ["n"], dtype = "{dtype}" }}]
dims = {{ n = [60, 64] }}
[[kernels]]
name = "{name}"
source = "k.cu"
launches = [{{ entry = "{name}", {launch}, args = ["x", "y", "i32:n"] }}]
"""


PLANE = """
[[ops]]
name = "plane"
kernel = "plane"
reference = "ref_plane.py"
inputs = [{ name = "y", shape = ["r", "c"], dtype = "float32" }]
outputs = [{ name = "y", inout = true }]
dims = { r = [4, 4], c = [20, 20] }
[[kernels]]
name = "plane"
source = "plane.cu"
launches = [{ entry = "plane", grid = ["2"], block = ["64"], args = ["y", "i32:c"] }]
"""
PLANE_CU = """
extern "C" __global__ void plane(float* y, int columns) {
  if (threadIdx.x == 0) y[3 * columns + 17] = 1.0f + blockIdx.x;
}
"""

ONE_BLOCK = 'grid = ["1"], block = ["64"]'
CASES = {
    # check: (op, kind, what the message must say)
    "division": ("divides", "DivisionByZero", "divides an integer by zero"),
    "race_shared": ("shares", "DataRace", "shared memory"),
    "race_global": ("collides", "DataRace", "'y'"),
    "init": ("forgets", "UninitializedRead", "'tile'["),
    "sync": ("masks", "IllegalSync", "mask"),
    "nonfinite": ("overflows", "InfDetected", "comes from finite operands"),
}
FILES = {
    "k.cu": KERNELS,
    "ref.py": "def reference(x):\n    return 0 * x\n",
    "plane.cu": PLANE_CU,
    "ref_plane.py": "def reference(y):\n    return 0 * y\n",
}


def config(checks, body):
    return f'[project]\nname = "checks"\n[runtime]\ncompile_flags = ["-lineinfo"]\n[validation]\nseed = 5\ncases = 1\nsanitize = {json.dumps(checks)}\n{body}'


@pytest.fixture(scope="module")
def project(new_home):
    made = new_home({**FILES, "gpuemu.toml": ""})

    def failures(checks, body):
        (made.project / "gpuemu.toml").write_text(config(checks, body))
        report = json.loads(made.run("test", "--format", "json", timeout=300).stdout)
        return report["ops"][0]["failures"]

    return failures


def findings(report):
    return [(f["kind"], f["message"], f.get("source_line")) for result in report for f in result["failures"]]


@pytest.mark.parametrize("check", CASES)
def test_a_check_alone_finds_its_fault_and_without_it_nobody_looks(project, check):
    name, kind, words = CASES[check]
    line = next(i + 1 for i, text in enumerate(FILES["k.cu"].splitlines()) if text.endswith(f"// {check}"))
    launch = 'grid = ["2"], block = ["64"]' if name == "collides" else ONE_BLOCK
    body = op(name, "float32" if name == "overflows" else "int32", launch)
    found = findings(project([check], body))
    right = [f for f in found if f[0] == kind and words in f[1]]
    assert right and f"k.cu:{line}" in right[0][1], found
    assert not [f for f in findings(project([], body)) if f[0] == kind and words in f[1]]


def test_a_finding_names_the_element_by_its_index_in_every_dimension(project):
    found = findings(project(["race"], PLANE))
    assert [f for f in found if f[0] == "DataRace" and "that is y[3, 17]" in f[1]], found
