// float16 and bfloat16 through the toolkit's headers. All of them are right.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "warp.h"

extern "C" __global__ void half_axpy(const __half* x, const __half* y, __half* z, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (2 * i + 1 < n) {
    reinterpret_cast<__half2*>(z)[i] = __hfma2(__float2half2_rn(2.0f), reinterpret_cast<const __half2*>(x)[i], reinterpret_cast<const __half2*>(y)[i]);
  } else if (2 * i < n) {
    z[2 * i] = __hfma(__float2half(2.0f), x[2 * i], y[2 * i]);
  }
}

template <typename T>
__device__ void row_sum_of(const T* x, T* y, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) sum += static_cast<float>(x[blockIdx.x * cols + c]);
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = static_cast<T>(sum);
}
extern "C" __global__ void narrow_row_sum_float16(const __half* x, __half* y, int cols) { row_sum_of(x, y, cols); }
extern "C" __global__ void narrow_row_sum_bfloat16(const __nv_bfloat16* x, __nv_bfloat16* y, int cols) { row_sum_of(x, y, cols); }

template <typename T>
__device__ void softmax_of(const T* x, T* y, int cols) {
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float most = -infinity(), sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) most = larger(most, static_cast<float>(x[c]));
  most = warp_max(most);
  for (int c = threadIdx.x; c < cols; c += 32) sum += expf(static_cast<float>(x[c]) - most);
  sum = warp_sum(sum);
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = static_cast<T>(expf(static_cast<float>(x[c]) - most) / sum);
}
extern "C" __global__ void narrow_softmax_float16(const __half* x, __half* y, int cols) { softmax_of(x, y, cols); }
extern "C" __global__ void narrow_softmax_bfloat16(const __nv_bfloat16* x, __nv_bfloat16* y, int cols) { softmax_of(x, y, cols); }

template <typename T>
__device__ void product_of(const T* a, const T* b, T* c, int m, int n, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += static_cast<float>(a[i / n * k + j]) * static_cast<float>(b[j * n + i % n]);
  c[i] = static_cast<T>(sum);
}
extern "C" __global__ void narrow_product_float16(const __half* a, const __half* b, __half* c, int m, int n, int k) { product_of(a, b, c, m, n, k); }
extern "C" __global__ void narrow_product_bfloat16(const __nv_bfloat16* a, const __nv_bfloat16* b, __nv_bfloat16* c, int m, int n, int k) {
  product_of(a, b, c, m, n, k);
}

template <typename T>
__device__ void silu_of(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<T>(static_cast<float>(x[i]) / (1.0f + expf(-static_cast<float>(x[i]))));
}
extern "C" __global__ void narrow_silu_float16(const __half* x, __half* y, int n) { silu_of(x, y, n); }
extern "C" __global__ void narrow_silu_bfloat16(const __nv_bfloat16* x, __nv_bfloat16* y, int n) { silu_of(x, y, n); }
