// Copies that run beside the kernel, barriers in shared memory, clusters and grids that meet.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>

namespace cg = cooperative_groups;

// Two stages: one row is copied while the one before is added.
extern "C" __global__ void pipeline_sums(const float* x, float* y, int rows) {
  __shared__ float tile[2][128];
  auto pipe = cuda::make_pipeline();
  const int t = threadIdx.x;
  float sum = 0;
  for (int r = 0; r <= rows; ++r) {
    pipe.producer_acquire();
    if (r < rows) cuda::memcpy_async(&tile[r % 2][t], x + r * 128 + t, sizeof(float), pipe);
    pipe.producer_commit();
    if (r == 0) continue;
    cuda::pipeline_consumer_wait_prior<1>(pipe);
    sum += tile[(r - 1) % 2][t];
    pipe.consumer_release();
  }
  y[t] = sum;
}

extern "C" __global__ void reverse_copy(const int* x, int* y, int n) {
  extern __shared__ int s[];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, s, x, sizeof(int) * n);
  cg::wait(block);
  for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = s[n - 1 - i];
}

// One thread starts a bulk copy that signals the barrier all wait at.
extern "C" __global__ void barrier_copy(const int* x, int* y) {
  __shared__ alignas(16) int s[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> bar;
  if (threadIdx.x == 0) init(&bar, blockDim.x);
  __syncthreads();
  if (threadIdx.x == 0)
    cuda::memcpy_async(s, x + blockIdx.x * 256, cuda::aligned_size_t<16>(sizeof(s)), bar);
  bar.arrive_and_wait();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) y[blockIdx.x * 256 + i] = s[255 - i];
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_swap(const int* x, int* y) {
  __shared__ int s[64];
  auto cluster = cg::this_cluster();
  s[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
  cluster.sync();
  const int* other = cluster.map_shared_rank(s, cluster.block_rank() ^ 1);
  y[blockIdx.x * 64 + threadIdx.x] = other[63 - threadIdx.x];
  cluster.sync();
}

// The cluster comes from the launch and may have any size.
extern "C" __global__ void cluster_sum(const int* x, int* y) {
  __shared__ int sum;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, x[blockIdx.x * 64 + threadIdx.x] & 1023);
  cluster.sync();
  if (threadIdx.x == 0) {
    int total = 0;
    for (unsigned rank = 0; rank < cluster.num_blocks(); ++rank) total += *cluster.map_shared_rank(&sum, rank);
    y[blockIdx.x] = total;
  }
  cluster.sync();
}

// Neighbours' values of the round before, three times over.
extern "C" __global__ void grid_rounds(const int* x, int* a, int* y, int n) {
  auto grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  if (i < n) a[i] = x[i] & 255;
  for (int round = 0; round < 3; ++round) {
    grid.sync();
    const int v = i < n ? a[(i + 1) % n] + a[i] : 0;
    grid.sync();
    if (i < n) a[i] = v;
  }
  if (i < n) y[i] = a[i];
}
