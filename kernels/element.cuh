// What the operators share: loads and stores that compute in a wider type, one entry per element
// type, and reductions over a block. Blocks are one-dimensional, any size from 1 to 1024.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace gpuemu_kernels {

/// What elements are computed and summed in.
template <typename T>
struct ComputeOf {
  using Type = float;
};
template <>
struct ComputeOf<double> {
  using Type = double;
};
/// Integers wrap, which only unsigned ones do in C++.
template <>
struct ComputeOf<int> {
  using Type = unsigned;
};
template <>
struct ComputeOf<long long> {
  using Type = unsigned long long;
};
template <typename T>
using Compute = typename ComputeOf<T>::Type;

__device__ __forceinline__ float widen(float value) { return value; }
__device__ __forceinline__ double widen(double value) { return value; }
__device__ __forceinline__ float widen(__half value) { return __half2float(value); }
__device__ __forceinline__ float widen(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ __forceinline__ unsigned widen(int value) { return static_cast<unsigned>(value); }
__device__ __forceinline__ unsigned long long widen(long long value) {
  return static_cast<unsigned long long>(value);
}

template <typename T>
__device__ __forceinline__ T narrow(Compute<T> value);
template <>
__device__ __forceinline__ float narrow<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ double narrow<double>(double value) {
  return value;
}
template <>
__device__ __forceinline__ __half narrow<__half>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ __forceinline__ __nv_bfloat16 narrow<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ __forceinline__ int narrow<int>(unsigned value) {
  return static_cast<int>(value);
}
template <>
__device__ __forceinline__ long long narrow<long long>(unsigned long long value) {
  return static_cast<long long>(value);
}

__device__ __forceinline__ long long thread_index() {
  return static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ long long thread_count() {
  return static_cast<long long>(gridDim.x) * blockDim.x;
}

struct Sum {
  template <typename C>
  static __device__ __forceinline__ C identity() {
    return C(0);
  }
  template <typename C>
  static __device__ __forceinline__ C apply(C a, C b) {
    return a + b;
  }
};

/// The maximum that keeps NaN, which fmaxf drops.
struct Max {
  template <typename C>
  static __device__ __forceinline__ C identity() {
    return C(-INFINITY);
  }
  template <typename C>
  static __device__ __forceinline__ C apply(C a, C b) {
    return (a > b || a != a) ? a : b;
  }
};

/// Reduces to one value that every thread gets. `partial` holds a block's worth of warps; every
/// thread must call.
template <typename Op, typename C>
__device__ C reduce_block(C value, C* partial) {
  const unsigned lane = threadIdx.x % 32u;
  const unsigned warp = threadIdx.x / 32u;
  const unsigned warps = (blockDim.x + 31u) / 32u;
  const unsigned lanes = min(32u, blockDim.x - warp * 32u);
  const unsigned mask = lanes == 32u ? 0xffffffffu : (1u << lanes) - 1u;
  for (unsigned step = 16u; step > 0u; step /= 2u) {
    // A lane that does not exist must not be read from, even if the value were dropped.
    const bool has_partner = lane + step < lanes;
    const C other = __shfl_sync(mask, value, static_cast<int>(has_partner ? lane + step : lane));
    const C joined = Op::apply(value, other);
    value = has_partner ? joined : value;  // No branch: all lanes stay together.
  }
  if (lane == 0u) partial[warp] = value;
  __syncthreads();
  C total = Op::template identity<C>();
  for (unsigned i = 0u; i < warps; ++i) total = Op::apply(total, partial[i]);
  __syncthreads();
  return total;
}

}  // namespace gpuemu_kernels

/// GPUEMU_ENTRIES(gelu, (const T* x, T* y, int n), (x, y, n)): the entries gelu_float32,
/// gelu_float64, gelu_float16 and gelu_bfloat16, each calling gelu_body<T>.
#define GPUEMU_ENTRY(name, dtype, type, params, args)                         \
  namespace name##_##dtype##_entry {                                          \
    using T = type;                                                           \
    extern "C" __global__ void name##_##dtype params { name##_body<T> args; } \
  }
#define GPUEMU_ENTRIES_UP_TO_32_BITS(name, params, args) \
  GPUEMU_ENTRY(name, float32, float, params, args)       \
  GPUEMU_ENTRY(name, float16, __half, params, args)      \
  GPUEMU_ENTRY(name, bfloat16, __nv_bfloat16, params, args)
#define GPUEMU_ENTRIES(name, params, args)         \
  GPUEMU_ENTRIES_UP_TO_32_BITS(name, params, args) \
  GPUEMU_ENTRY(name, float64, double, params, args)
