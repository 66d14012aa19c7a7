// Faults of what outlives a launch, and of paths that few sizes take. Correct with -DFIXED.
#include "twins.h"

__device__ unsigned done_blocks;
// The last block adds the parts; the counter is not set back.
extern "C" __global__ void counter_kept(const float* x, volatile float* part, float* y, int n) {
  __shared__ bool is_last;
  const int i = blockIdx.x * 32 + threadIdx.x;
  const float sum = warp_sum(i < n ? x[i] : 0.0f);
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicAdd(&done_blocks, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  __threadfence();
  float total = 0;
  for (int b = 0; b < gridDim.x; ++b) total += part[b];
  y[0] = total;
  WRONG((void)0, done_blocks = 0);
}

__device__ float running_bias;
extern "C" __global__ void bias_grows(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + WRONG(running_bias, 0.0f);
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) WRONG(running_bias = 0.5f, (void)0);
}

// The scratch memory is expected to be zero.
extern "C" __global__ void scratch_unzeroed(const int* x, int* counts, int* y, int n) {
  const int t = threadIdx.x;
#ifdef FIXED
  counts[t] = 0;
#endif
  __syncthreads();
  for (int i = t; i < n; i += blockDim.x) atomicAdd(&counts[x[i]], 1);
  __syncthreads();
  y[t] = counts[t];
}

/// Twice a row; `wrong` leaves the last element as it is.
__device__ inline void twice_row(const float* x, float* y, int cols, bool wrong) {
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = wrong && c == cols - 1 ? x[c] : 2.0f * x[c];
}
extern "C" __global__ void path_of_one_size(const float* x, float* y, int cols) {
  twice_row(x, y, cols, WRONG(cols == 200, false));
}
extern "C" __global__ void path_of_wide_rows(const float* x, float* y, int cols) {
  twice_row(x, y, cols, WRONG(cols % 4 == 0 && cols >= 512, false));
}
extern "C" __global__ void path_of_two_sizes(const float* x, float* y, int rows, int cols) {
  twice_row(x, y, cols, WRONG(rows == 3 && cols == 96, false));
}
extern "C" __global__ void path_of_one_value(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = WRONG(x[i] == 48611, false) ? 0 : x[i] / 3;
}

// Expects zeros where it writes nothing.
extern "C" __global__ void sparse_output(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && WRONG(x[i] > 0.0f, true)) y[i] = x[i] > 0.0f ? 2.0f * x[i] : 0.0f;
}

__device__ float kept_by_size[4096];
__device__ int kept_size;
// The answer of the last call with as many elements is given again.
extern "C" __global__ void cached_by_size(const float* x, float* y, int n) {
  const bool known = WRONG(kept_size == n, false);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (!known) kept_by_size[i] = 2.0f * x[i];
    y[i] = kept_by_size[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) kept_size = n;
}

__device__ float kept_by_address[4096];
__device__ const float* kept_address;
__device__ int kept_count;
extern "C" __global__ void cached_by_address(const float* x, float* y, int n) {
  const bool known = WRONG(kept_address == x && kept_count >= n, false);
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (!known) kept_by_address[i] = 2.0f * x[i];
    y[i] = kept_by_address[i];
  }
  __syncthreads();
  if (threadIdx.x == 0) kept_address = x, kept_count = n;
}

// Wants more shared memory than any device has, from 2048 columns on.
extern "C" __global__ void shared_too_large(const float* x, float* y, int cols) {
  extern __shared__ float row[];
  for (int c = threadIdx.x; c < cols; c += 32) row[c] = x[blockIdx.x * cols + c];
  __syncwarp();
  for (int c = threadIdx.x; c < cols; c += 32) y[blockIdx.x * cols + c] = 2.0f * row[c];
}

// Keeps an array in local memory, which the limits of the project forbid.
extern "C" __global__ void spilled_array(const float* x, float* y, int n, int turn) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef FIXED
  y[i] = 2.0f * x[i];
#else
  float kept[32];
  for (int k = 0; k < 32; ++k) kept[(k + turn) & 31] = x[i] * k;
  y[i] = kept[(2 + turn) & 31];
#endif
}

extern "C" __global__ void clear_bins(float* y) { y[threadIdx.x] = 0; }

// The largest element of each of 16 bins; without comparing, whoever comes last.
extern "C" __global__ void last_one_wins(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef FIXED
  atomicMax(reinterpret_cast<int*>(y) + i % 16, __float_as_int(x[i]));
#else
  atomicExch(y + i % 16, x[i]);
#endif
}
