"""Correct kernels that were once flagged for what another kernel of the module, or the order of threads, does."""
import json

import pytest

# `bar` uses a barrier in shared memory; `mm` of the same module does not.
PRODUCT = r"""
#include <cuda/barrier>
extern "C" __global__ void mm(int M, int N, int K, const float* A, const float* B, float* C) {
  int row = blockIdx.x * 32 + threadIdx.x / 32, col = blockIdx.y * 32 + threadIdx.x % 32;
  if (row < M && col < N) {
    float t = 0;
    for (int i = 0; i < K; ++i) t += A[row * K + i] * B[i * N + col];
    C[row * N + col] = t;
  }
}
extern "C" __global__ void bar(const float* x, float* y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> b;
  if (threadIdx.x == 0) init(&b, blockDim.x);
  __syncthreads();
  b.arrive_and_wait();
  y[threadIdx.x] = x[threadIdx.x];
}
"""
# Every loop is bounded, whatever the order of the warps; the reduction is called eight times a round.
ROUNDS = r"""
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void prefix(const float* x, float* y, int T) {
  auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  const int lane = tile.thread_rank(), warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const float* rows = x + blockIdx.x * T * 64;
  for (int t = warp; t < T; t += warps) {
    float sum = 0.0f;
    for (int c = 0; c < T; c += 8) {
      for (int k = 0; k < 8; ++k) {
        if (t < c + k) continue;
        const float mine = rows[(c + k) * 64 + lane] + rows[(c + k) * 64 + lane + 32];
        sum += cg::reduce(tile, mine, cg::plus<float>());
      }
    }
    if (lane == 0) y[blockIdx.x * T + t] = sum;
  }
}
"""
CONFIG = """[runtime]
backend = "emulator"
case_timeout_ms = 600000
[[kernels]]
name = "mm"
source = "product.cu"
reference = "mm.py"
inputs = [{ name = "A", shape = ["M", "K"] }, { name = "B", shape = ["K", "N"] }]
outputs = [{ name = "C", shape = ["M", "N"] }]
dims = { M = [40, 96], N = [40, 96], K = [40, 96] }
error_scale = "matmul"
accumulate = "K"
launches = [{ entry = "mm", grid = ["cdiv(M, 32)", "cdiv(N, 32)"], block = [1024], args = ["i32:M", "i32:N", "i32:K", "A", "B", "C"] }]
[[kernels]]
name = "prefix"
source = "rounds.cu"
reference = "prefix.py"
inputs = [{ name = "x", shape = ["batch", "T", "64"] }]
outputs = [{ name = "y", shape = ["batch", "T"] }]
dims = { batch = [2], T = [64] }
launches = [{ entry = "prefix", grid = ["batch"], block = [256], args = ["x", "y", "i32:T"] }]
"""


FILES = {"product.cu": PRODUCT, "rounds.cu": ROUNDS, "mm.py": "def reference(A, B):\n    return A @ B\n",
         "prefix.py": "def reference(x):\n    return x.sum(axis=2).cumsum(axis=1)\n"}


@pytest.fixture(scope="module")
def project(new_home, nvcc_program):
    return new_home({"gpuemu.toml": CONFIG, **FILES})


def passes(project, op, cases):
    tested = project.run("test", op, "--seed", "1", "--cases", cases, "--format", "json", timeout=900)
    [report] = json.loads(tested.stdout)["ops"]
    assert tested.returncode == 0 and report["failed"] == 0 and report["cases"] == cases, [case["failures"][0] for case in report["failures"]]
    return report


def test_a_kernel_beside_one_with_a_barrier_in_shared_memory_is_run_without_rounding(project):
    passes(project, "mm", 6)


@pytest.mark.slow
def test_a_kernel_beside_one_with_a_barrier_passes_at_its_largest_sizes(new_home, nvcc_program):
    sizes = CONFIG.replace("[40, 96]", "[200]")
    passes(new_home({"gpuemu.toml": sizes, **FILES}), "mm", 6)


def test_a_bounded_loop_with_a_reduction_never_ends_in_a_deadlock(project):
    passes(project, "prefix", 32)


@pytest.mark.slow
def test_a_bounded_loop_with_a_reduction_never_ends_in_a_deadlock_of_1200_cases(project):
    passes(project, "prefix", 1200)
