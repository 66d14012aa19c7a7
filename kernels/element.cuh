// What the operators share: loads and stores that compute in float, one entry per element type, and
// reductions over a block. Blocks are one-dimensional, any size from 1 to 1024.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace gpuemu_kernels {

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(__half value) { return __half2float(value); }
__device__ __forceinline__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }

template <typename T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ __half from_float<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}

struct Sum {
  static __device__ __forceinline__ float identity() { return 0.0f; }
  static __device__ __forceinline__ float apply(float a, float b) { return a + b; }
};

/// The maximum that keeps NaN, which fmaxf drops.
struct Max {
  static __device__ __forceinline__ float identity() { return -INFINITY; }
  static __device__ __forceinline__ float apply(float a, float b) {
    return (a > b || a != a) ? a : b;
  }
};

/// The same value in every thread. `partial` holds a block's worth of warps; every thread must
/// call.
template <typename Op>
__device__ float reduce_block(float value, float* partial) {
  const unsigned lane = threadIdx.x % 32u;
  const unsigned warp = threadIdx.x / 32u;
  const unsigned warps = (blockDim.x + 31u) / 32u;
  const unsigned lanes = min(32u, blockDim.x - warp * 32u);
  const unsigned mask = lanes == 32u ? 0xffffffffu : (1u << lanes) - 1u;
  for (unsigned step = 16u; step > 0u; step /= 2u) {
    // A lane that does not exist must not be read from, even if the value were dropped.
    const bool has_partner = lane + step < lanes;
    const float other =
        __shfl_sync(mask, value, static_cast<int>(has_partner ? lane + step : lane));
    if (has_partner) value = Op::apply(value, other);
  }
  if (lane == 0u) partial[warp] = value;
  __syncthreads();
  float total = Op::identity();
  for (unsigned i = 0u; i < warps; ++i) total = Op::apply(total, partial[i]);
  __syncthreads();
  return total;
}

}  // namespace gpuemu_kernels

/// GPUEMU_ENTRIES(gelu, (const T* x, T* y, int n), (x, y, n)): the entries gelu_float32,
/// gelu_float16 and gelu_bfloat16, each calling gelu_body<T>.
#define GPUEMU_ENTRY(name, dtype, type, params, args)                         \
  namespace name##_##dtype##_entry {                                          \
    using T = type;                                                           \
    extern "C" __global__ void name##_##dtype params { name##_body<T> args; } \
  }
#define GPUEMU_ENTRIES(name, params, args)          \
  GPUEMU_ENTRY(name, float32, float, params, args)  \
  GPUEMU_ENTRY(name, float16, __half, params, args) \
  GPUEMU_ENTRY(name, bfloat16, __nv_bfloat16, params, args)
