// Types and helpers that all kernels of the folder share.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifdef TRAIN_BF16
typedef __nv_bfloat16 floatX;
#else
typedef float floatX;
#endif

#define CEIL_DIV(M, N) (((M) + (N) - 1) / (N))
constexpr int kWarp = 32;

__device__ inline float warp_sum(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2)
    value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}
__device__ inline float warp_max(float value) {
  for (int step = kWarp / 2; step > 0; step /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, step));
  return value;
}
