#include <assert.h>
#include <cuda_runtime.h>
#include "common.h"

// One warp normalises one row of C channels.
__global__ void layernorm_forward_kernel(floatX* __restrict__ out, float* __restrict__ mean, float* __restrict__ rstd,
                                         const floatX* __restrict__ inp, const floatX* __restrict__ weight,
                                         const floatX* __restrict__ bias, int N, int C) {
  int lane = threadIdx.x % kWarp;
  int row = blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (row >= N) return;
  const floatX* x = inp + row * C;
  float total = 0.0f;
  for (int c = lane; c < C; c += kWarp) total += (float)x[c];
  float m = warp_sum(total) / C;
  float squares = 0.0f;
  for (int c = lane; c < C; c += kWarp) {
    float away = (float)x[c] - m;
    squares += away * away;
  }
  float s = rsqrtf(warp_sum(squares) / C + 1e-5f);
  if (lane == 0) {
    mean[row] = m;
    rstd[row] = s;
  }
  for (int c = lane; c < C; c += kWarp)
    out[row * C + c] = (floatX)(s * ((float)x[c] - m) * (float)weight[c] + (float)bias[c]);
}

void layernorm_forward(floatX* out, float* mean, float* rstd, floatX* inp, const floatX* weight, const floatX* bias,
                       int B, int T, int C, cudaStream_t stream) {
  const int block_size = 256;
  const int N = B * T;
  const int grid_size = CEIL_DIV(N * kWarp, block_size);
  layernorm_forward_kernel<<<grid_size, block_size, 0, stream>>>(out, mean, rstd, inp, weight, bias, N, C);
}
