#include "common.h"
__global__ void crossentropy_forward_kernel(float* losses, const float* probs, const int* targets, int B, int T, int V) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < B * T) losses[i] = -logf(probs[i * V + targets[i]]);
}
void crossentropy_forward(float* losses, const float* probs, const int* targets, int B, int T, int V) {
  const int block_size = 128;
  crossentropy_forward_kernel<<<CEIL_DIV(B * T, block_size), block_size>>>(losses, probs, targets, B, T, V);
}
