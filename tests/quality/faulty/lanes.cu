// Faults of threads of one warp that are taken to run together. Correct with -DFIXED.
#include "twins.h"

// The tile is filled again while other lanes still read it, when there is more than one.
extern "C" __global__ void warp_reuse(const float* x, float* y, int blocks) {
  __shared__ float tile[32];
  const int t = threadIdx.x;
  for (int at = 0; at < 32 * blocks; at += 32) {
    tile[t] = x[at + t];  // FAULT warp_reuse
    __syncwarp();
    y[at + t] = tile[31 - t];
    WRONG((void)0, __syncwarp());
  }
}

extern "C" __global__ void half_barrier(const float* x, float* y) {
  __shared__ float tile[32];
  const int t = threadIdx.x, at = blockIdx.x * 32;
  tile[t] = x[at + t];
  __syncwarp(WRONG(t < 16 ? 0xffffu : 0xffff0000u, kAll));
  y[at + t] = tile[31 - t];  // FAULT half_barrier
}

extern "C" __global__ void shuffle_no_barrier(const float* x, float* y) {
  __shared__ float tile[32];
  const int t = threadIdx.x, at = blockIdx.x * 32;
  tile[t] = x[at + t];
  const int from = __shfl_xor_sync(kAll, t, 31);
  WRONG((void)0, __syncwarp());
  y[at + t] = tile[from];  // FAULT shuffle_no_barrier
}

extern "C" __global__ void global_exchange(const float* x, float* y) {
  const int t = threadIdx.x, at = blockIdx.x * 32;
  y[at + t] = x[at + t];
  WRONG((void)0, __syncwarp());
  const float v = y[at + 31 - t];  // FAULT global_exchange
  __syncwarp();
  y[at + t] = v;
}
