"""Outputs and scratch memory that the host fills before the launch: `init` in gpuemu.toml, and how `gpuemu init` finds it."""
import json
import subprocess
import sys
import tomllib

from conftest import ROOT

SOURCE = """extern "C" __global__ void histogram(const int* x, int* bins, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i]], STEP);
}
extern "C" __global__ void mean(const int* x, int* partial, unsigned* ticket, int* y, int n) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  int sum = 0;
  for (int b = 0; b < gridDim.x; ++b) sum += ((volatile int*)partial)[b];
  *y = sum / n;
}
extern "C" __global__ void first_of(const unsigned* key, unsigned* table, int n, int slots) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicCAS(&table[key[i] % slots], 0xffffffffu, key[i] % slots);
}
"""
CONFIG = """[[kernels]]
name = "histogram"
source = "k.cu"
reference = "refs.py:histogram"
inputs = [{ name = "x", shape = ["n"], dtype = "int32", range = [0, "m - 1"] }]
outputs = [{ name = "bins", shape = ["m"], dtype = "int32"INIT }]
dims = { n = [1, 90], m = [1, 40] }
launches = [{ entry = "histogram", grid = "cdiv(n, 32)", block = 32, args = ["x", "bins", "i32:n"] }]
[[kernels]]
name = "mean"
source = "k.cu"
reference = "refs.py:mean"
inputs = [{ name = "x", shape = ["n"], dtype = "int32", range = [0, 1000] }]
outputs = [{ name = "y", shape = [1], dtype = "int32" }]
scratch = [{ name = "partial", shape = [4], dtype = "int32" }, { name = "ticket", shape = [1], dtype = "uint32", init = 0 }]
dims = { n = [1, 90] }
launches = [{ entry = "mean", grid = 4, block = 32, args = ["x", "partial", "ticket", "y", "i32:n"] }]
[[kernels]]
name = "first_of"
source = "k.cu"
reference = "refs.py:first_of"
inputs = [{ name = "key", shape = ["n"], dtype = "uint32" }]
outputs = [{ name = "table", shape = ["slots"], dtype = "uint32", init = -1 }]
dims = { n = [1, 90], slots = [1, 40] }
launches = [{ entry = "first_of", grid = "cdiv(n, 32)", block = 32, args = ["key", "table", "i32:n", "i32:slots"] }]
"""
REFERENCES = """import numpy as np
def histogram(x, m):
    return np.bincount(x, minlength=m)
def mean(x):
    return np.array([x.sum() // x.size])
def first_of(key, slots):
    table = np.full(slots, 2**32 - 1, np.uint64)
    table[key % slots] = key % slots
    return table
"""


def files(init=", init = 0", step=1):
    return {"k.cu": SOURCE.replace("STEP", str(step)), "gpuemu.toml": CONFIG.replace("INIT", init), "refs.py": REFERENCES}


def test_right_kernels_pass_and_their_references_do_not_get_what_is_there(new_home):
    run = new_home(files()).run("test", "--cases", 24, "--seed", 3, "--format", "json")
    assert run.returncode == 0, run.stdout + run.stderr
    assert [op["passed"] for op in json.loads(run.stdout)["ops"]] == [24] * 3


def test_without_the_key_the_help_names_it(new_home):
    run = new_home(files(init="")).run("test", "histogram", "--cases", 8, "--seed", 3, "--format", "full")
    assert run.returncode == 1
    assert "UninitializedRead" in run.stdout and "`init = 0`" in run.stdout, run.stdout


def test_a_wrong_kernel_is_minimized_replayed_and_exported_with_what_was_there(new_home):
    home = new_home(files(step=2))
    assert home.run("test", "histogram", "--cases", 8, "--seed", 3).returncode == 1
    small = json.loads(home.run("minimize", "last", "--format", "json").stdout)
    again = home.run("reproduce", "last", "--exit-code")
    assert again.returncode == 1 and "expected 1, got 2" in again.stdout, again.stdout
    lines = home.run("minimize", "last").stdout.partition("for Python:\n")[2]
    assert "x = numpy" in lines and "bins" not in lines
    shown = home.run("explain", small["minimized_seed"]).stdout
    assert "is of integers, which nothing rounds" in shown and "an atomic" in shown, shown
    assert home.run("export", "last", "--output", "out").returncode == 0
    made = subprocess.run([sys.executable, "run.py", "--device", "emulator"], cwd=home.project / "out", capture_output=True, text=True,
                          env={**home.env, "PYTHONPATH": str(ROOT / "python")}, timeout=120)  # fmt: skip
    assert made.returncode == 1 and "is 2, expected 1" in made.stdout, made.stdout + made.stderr


HOST = """
__global__ void histogram(const unsigned char* data, unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&bins[data[i]], 1u);
}
__global__ void total(const float* x, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(out, x[i]);
}
__global__ void mean(const float* x, float* partial, unsigned* ticket, float* y, int n) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    float sum = 0;
    for (int i = blockIdx.x; i < n; i += gridDim.x) sum += x[i];
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(ticket, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x != 0) return;
  __threadfence();
  float sum = 0;
  for (int b = 0; b < gridDim.x; ++b) sum += ((volatile float*)partial)[b];
  y[0] = sum / n;
  *ticket = 0;
}
__global__ void highest(const int* x, int* best, int rows, int cols) {
  int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;
  if (c < cols) atomicMax(&best[r], x[r * cols + c]);
}
void run(const float* x, const unsigned char* data, unsigned* bins, float* out, float* partial, unsigned* ticket, float* y,
         const int* v, int* best, int rows, int cols, int n) {
  cudaMemset(bins, 0, 256 * sizeof(unsigned));
  histogram<<<8, 128>>>(data, bins, n);
  cudaMemset(ticket, 0, 4);
  mean<<<16, 32>>>(x, partial, ticket, y, n);
  cudaMemset(best, 0x80, rows * sizeof(int));
  highest<<<dim3((cols + 63) / 64, rows), 64>>>(v, best, rows, cols);
}
"""
WRITTEN = {
    "histogram": "import numpy as np\ndef reference(data):\n    return np.bincount(data, minlength=256)\n",
    "total": "def reference(x):\n    return x.sum().reshape(1)\n",
    "mean": "def reference(x):\n    return x.mean().reshape(1)\n",
    "highest": "import numpy as np\ndef reference(x):\n    return np.maximum(x.max(axis=1), -2139062144)\n",
}


def test_init_finds_it_in_host_code_and_in_atomics(new_home):
    home = new_home({"k.cu": HOST})
    assert home.run("init").returncode == 0
    made = {one["name"]: one for one in tomllib.loads((home.project / "gpuemu.toml").read_text())["kernels"]}
    begins = {name: {out["name"]: out.get("init") for out in one["outputs"]} for name, one in made.items()}
    assert begins["histogram"] == {"bins": 0} and begins["total"] == {"out": 0} and begins["mean"] == {"y": None}
    assert begins["highest"] == {"best": -2139062144}, "the bytes of cudaMemset"
    assert [(one["name"], one.get("init")) for one in made["mean"]["scratch"]] == [("partial", None), ("ticket", 0)]
    for name, text in WRITTEN.items():
        (home.project / "scripts" / f"ref_{name}.py").write_text(text)
    run = home.run("test", "--cases", 24)
    assert run.returncode == 0, run.stdout
