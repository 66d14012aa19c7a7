// What the kernels of this folder share: sums and maxima over a block of 128 threads.
#pragma once
#include <cuda_fp16.h>

constexpr unsigned kAll = 0xffffffffu;
constexpr int kThreads = 128;

__device__ inline float warp_sum(float v) {
  for (int step = 16; step > 0; step /= 2) v += __shfl_xor_sync(kAll, v, step);
  return v;
}

/// The larger one; a NaN stays.
__device__ inline float larger(float a, float b) { return a != a || a > b ? a : b; }

__device__ inline float block_sum(float v) {
  __shared__ float parts[kThreads / 32];
  v = warp_sum(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0.0f;
  for (int i = 0; i < kThreads / 32; ++i) sum += parts[i];
  return sum;
}

__device__ inline float block_max(float v) {
  __shared__ float parts[kThreads / 32];
  for (int step = 16; step > 0; step /= 2) v = larger(v, __shfl_xor_sync(kAll, v, step));
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  float most = parts[0];
  for (int i = 1; i < kThreads / 32; ++i) most = larger(most, parts[i]);
  return most;
}

__device__ inline float infinity() { return __int_as_float(0x7f800000); }
