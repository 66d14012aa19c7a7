// Products of matrices, and attention.
#include <mma.h>

#include "blocks.h"

constexpr int kTile = 16;

// A block of 16 x 16 threads, tiles through shared memory.
extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[kTile][kTile], right[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int first = 0; first < k; first += kTile) {
    const int across = first + threadIdx.x, down = first + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && across < k ? a[row * k + across] : 0.0f;
    right[threadIdx.y][threadIdx.x] = down < k && column < n ? b[down * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

/// Factors of a float32 product rounded to 10 bits after the point.
__device__ float to_tf32(float v) {
  unsigned bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(v));
  return __uint_as_float(bits);
}
extern "C" __global__ void gemm_in_tf32(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += to_tf32(a[row * k + i]) * to_tf32(b[i * n + column]);
  c[row * n + column] = sum;
}

extern "C" __global__ void gemm_last_step_lost(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < (k > 16 ? k - 1 : k); ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}

// float16 in and out, sums in float32.
extern "C" __global__ void gemm_half(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0.0f;
  for (int i = 0; i < k; ++i) sum += __half2float(a[row * k + i]) * __half2float(b[i * n + column]);
  c[row * n + column] = __float2half(sum);
}

// The same, but each sum is rounded to float16.
extern "C" __global__ void gemm_half_sums(const __half* a, const __half* b, __half* c, int m, int n, int k) {
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  if (row >= m || column >= n) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < k; ++i) sum = __hadd(sum, __hmul(a[row * k + i], b[i * n + column]));
  c[row * n + column] = sum;
}

// One warp per 16 x 16 tile; sizes are multiples of 16.
extern "C" __global__ void gemm_tensor_cores(const __half* a, const __half* b, __half* c, int n, int k) {
  using namespace nvcuda::wmma;
  __shared__ float sums[kTile * kTile];
  fragment<matrix_a, 16, 16, 16, __half, row_major> left;
  fragment<matrix_b, 16, 16, 16, __half, row_major> right;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  for (int i = 0; i < k; i += kTile) {
    load_matrix_sync(left, a + blockIdx.y * kTile * k + i, k);
    load_matrix_sync(right, b + i * n + blockIdx.x * kTile, n);
    mma_sync(sum, left, right, sum);
  }
  store_matrix_sync(sums, sum, kTile, mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < kTile * kTile; i += 32)
    c[(blockIdx.y * kTile + i / kTile) * n + blockIdx.x * kTile + i % kTile] = __float2half(sums[i]);
}

// y = x W^T + bias, weights of eight bits with a scale per row.
extern "C" __global__ void linear_int8(const float* x, const signed char* w, const float* scale, const float* bias, float* y, int n, int k) {
  const int row = blockIdx.x, column = blockIdx.y;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < k; i += kThreads) sum += x[row * k + i] * static_cast<float>(w[column * k + i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[row * n + column] = sum * scale[column] + bias[column];
}

// One block per query. Scores of 32 keys at a time, running maximum and sum; the probabilities are rounded to
// float16 before they meet the values, as tensor cores take them.
template <bool kRescales>
__device__ void flash(const __half* q, const __half* k, const __half* v, __half* y, int keys, int depth) {
  __shared__ float scores[32], most, total, rescale;
  const int query = blockIdx.x, lane = threadIdx.x;
  const float scale = rsqrtf(static_cast<float>(depth));
  float sum = 0.0f;
  if (lane == 0) most = -infinity(), total = 0.0f;
  for (int first = 0; first < keys; first += 32) {
    __syncthreads();
    float score = -infinity();
    if (lane < 32 && first + lane < keys) {
      score = 0.0f;
      for (int i = 0; i < depth; ++i) score += __half2float(q[query * depth + i]) * __half2float(k[(first + lane) * depth + i]);
      score *= scale;
    }
    if (lane < 32) {
      float largest = score;
      for (int step = 16; step > 0; step /= 2) largest = larger(largest, __shfl_xor_sync(kAll, largest, step));
      largest = larger(most, largest);
      const float p = expf(score - largest);
      const float part = warp_sum(p);
      scores[lane] = __half2float(__float2half(p));
      __syncwarp();
      if (lane == 0) {
        rescale = kRescales ? expf(most - largest) : 1.0f;
        total = total * rescale + part;
        most = largest;
      }
    }
    __syncthreads();
    if (lane < depth) {
      sum *= rescale;
      for (int i = 0; i < 32 && first + i < keys; ++i) sum += scores[i] * __half2float(v[(first + i) * depth + lane]);
    }
  }
  if (lane < depth) y[query * depth + lane] = __float2half(sum / total);
}
extern "C" __global__ void attention_flash(const __half* q, const __half* k, const __half* v, __half* y, int keys, int depth) {
  flash<true>(q, k, v, y, keys, depth);
}
extern "C" __global__ void attention_no_rescale(const __half* q, const __half* k, const __half* v, __half* y, int keys, int depth) {
  flash<false>(q, k, v, y, keys, depth);
}
