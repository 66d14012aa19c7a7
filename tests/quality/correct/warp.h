// What the correct kernels share: exchanges within a warp.
#pragma once

constexpr unsigned kAll = 0xffffffffu;

__device__ inline float infinity() { return __int_as_float(0x7f800000); }

__device__ inline float warp_sum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(kAll, v, step);
  return v;
}

/// The larger one; a NaN stays.
__device__ inline float larger(float a, float b) { return a != a || a > b ? a : b; }

__device__ inline float warp_max(float v) {
  for (int step = 16; step > 0; step /= 2) v = larger(v, __shfl_xor_sync(kAll, v, step));
  return v;
}

/// Of a block of up to 1024 threads, a multiple of 32; all get it. `shared` has 32 elements.
__device__ inline float block_sum(float v, float* shared) {
  v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
  __syncthreads();
  v = threadIdx.x % 32 < blockDim.x / 32 ? shared[threadIdx.x % 32] : 0.0f;
  return warp_sum(v);
}
