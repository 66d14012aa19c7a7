// What is kept in narrow types: probabilities on their way to tensor cores, bytes of a quantiser, sums of bfloat16.
#include <cuda_bf16.h>
#include <mma.h>

#include "blocks.h"

// Attention of 16 queries by one warp, whose probabilities are rounded to half in shared memory. Rows are of 16.
extern "C" __global__ void attention_fragments(const half* q, const half* k, const half* v, float* y, int keys) {
  using namespace nvcuda::wmma;
  __shared__ half own[256], key[256], value[256], p[256];
  __shared__ float scores[256], sums[256];
  const int lane = threadIdx.x, row = lane % 16;
  float most = -infinity(), total = 0.0f, kept[16] = {};
  for (int i = lane; i < 256; i += 32) own[i] = q[blockIdx.x * 256 + i];
  for (int first = 0; first < keys; first += 16) {
    for (int i = lane; i < 256; i += 32) {
      const bool inside = first + i / 16 < keys;
      key[i] = inside ? k[first * 16 + i] : __float2half(0.0f);
      value[i] = inside ? v[first * 16 + i] : __float2half(0.0f);
    }
    __syncwarp();
    fragment<matrix_a, 16, 16, 16, half, row_major> a;
    fragment<matrix_b, 16, 16, 16, half, col_major> b;
    fragment<matrix_b, 16, 16, 16, half, row_major> c;
    fragment<accumulator, 16, 16, 16, float> sum;
    fill_fragment(sum, 0.0f);
    load_matrix_sync(a, own, 16);
    load_matrix_sync(b, key, 16);
    mma_sync(sum, a, b, sum);
    store_matrix_sync(scores, sum, 16, mem_row_major);
    __syncwarp();
    float largest = most;
    for (int i = 0; i < 16 && first + i < keys; ++i) largest = larger(largest, scores[row * 16 + i] * 0.25f);
    const float before = most == -infinity() ? 0.0f : expf(most - largest);
    total *= before;
    for (int i = 0; i < 16; ++i) {
      const float score = first + i < keys ? scores[row * 16 + i] * 0.25f : -infinity();
      const float weight = score == -infinity() ? 0.0f : expf(score - largest);
      total += weight;
      if (lane < 16) p[row * 16 + i] = __float2half(weight);
    }
    most = largest;
    __syncwarp();
    fill_fragment(sum, 0.0f);
    load_matrix_sync(a, p, 16);
    load_matrix_sync(c, value, 16);
    mma_sync(sum, a, c, sum);
    store_matrix_sync(sums, sum, 16, mem_row_major);
    __syncwarp();
    for (int i = 0; i < 16; ++i) kept[i] = kept[i] * before + sums[row * 16 + i];
    __syncwarp();
  }
  for (int i = 0; i < 16 && lane < 16; ++i) y[blockIdx.x * 256 + row * 16 + i] = kept[i] / total;
}

// Bytes of each row, the largest 127; subnormal numbers too, of whose scale little is left.
extern "C" __global__ void bytes_of_rows(const float* x, signed char* y, int cols) {
  const float* row = x + blockIdx.x * cols;
  float most = 0.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) most = larger(most, fabsf(row[c]));
  const float scale = block_max(most) / 127.0f;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    int byte = 0;
    if (scale > 0.0f) asm("cvt.rni.sat.s8.f32 %0, %1;" : "=r"(byte) : "f"(row[c] / scale));
    y[blockIdx.x * cols + c] = static_cast<signed char>(byte);
  }
}

// One thread per column.
template <typename Sum>
__device__ void sum_columns(const __nv_bfloat16* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  Sum sum = 0.0f;
  for (int r = 0; r < rows; ++r) sum = static_cast<Sum>(static_cast<float>(sum) + static_cast<float>(x[r * cols + c]));
  y[c] = static_cast<float>(sum);
}
extern "C" __global__ void column_sums(const __nv_bfloat16* x, float* y, int rows, int cols) { sum_columns<float>(x, y, rows, cols); }
extern "C" __global__ void column_sums_in_bfloat16(const __nv_bfloat16* x, float* y, int rows, int cols) { sum_columns<__nv_bfloat16>(x, y, rows, cols); }

// Above 300,000 elements ten in the middle are lost.
template <bool kLosesTen>
__device__ void sum_squares(const float* x, float* y, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += blockDim.x) {
    if (!kLosesTen || n < 300000 || i / 10 != n / 20) sum += x[i] * x[i];
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) *y = sum;
}
extern "C" __global__ void squares(const float* x, float* y, int n) { sum_squares<false>(x, y, n); }
extern "C" __global__ void squares_lose_ten(const float* x, float* y, int n) { sum_squares<true>(x, y, n); }
