#include "common.h"
#define GELU_SCALE 0.7978845608f
__global__ void gelu_forward_kernel(floatX* out, const floatX* inp, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  float x = (float)inp[i];
  out[i] = (floatX)(0.5f * x * (1.0f + tanhf(GELU_SCALE * (x + 0.044715f * x * x * x))));
}
__global__ void gelu_backward_kernel(floatX* d_in_out, const floatX* inp, int N) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  float x = (float)inp[i];
  float t = tanhf(GELU_SCALE * (x + 0.044715f * x * x * x));
  float slope = 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * GELU_SCALE * (1.0f + 3.0f * 0.044715f * x * x);
  d_in_out[i] = (floatX)((float)d_in_out[i] * slope);
}
void gelu_forward(floatX* out, const floatX* inp, int N) {
  const int block_size = 512;
  gelu_forward_kernel<<<CEIL_DIV(N, block_size), block_size>>>(out, inp, N);
}
