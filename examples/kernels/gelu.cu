// gelu(x) = x / 2 * (1 + erf(x / sqrt 2)), computed in float for every element type.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ inline float widen(float x) { return x; }
__device__ inline float widen(__half x) { return __half2float(x); }
__device__ inline float widen(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void narrow(float x, float* y) { *y = x; }
__device__ inline void narrow(float x, __half* y) { *y = __float2half(x); }
__device__ inline void narrow(float x, __nv_bfloat16* y) { *y = __float2bfloat16(x); }

template <typename T>
__global__ void gelu(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float value = widen(x[i]);
  // erfc keeps its digits where 1 + erf would cancel; at minus infinity the product would be NaN.
  const float result = 0.5f * value * erfcf(-value * 0.70710678118654752f);
  narrow(isinf(value) && value < 0.0f ? -0.0f : result, &y[i]);
}
