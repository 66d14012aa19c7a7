#include <cuda_runtime.h>
__global__ void rope_kernel(float* x, const float* cos_table, const float* sin_table, const int* positions, int tokens,
                            int heads, int head_dim) {
  const int half = head_dim / 2;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= tokens * heads * half) return;
  const int d = at % half, token = at / (heads * half), row = at / half;
  const int p = positions[token];
  const float c = cos_table[p * half + d], s = sin_table[p * half + d];
  float* pair = x + (size_t)row * head_dim;
  const float a = pair[d], b = pair[d + half];
  pair[d] = a * c - b * s;
  pair[d + half] = a * s + b * c;
}
void rope(float* x, const float* cos_table, const float* sin_table, const int* positions, int tokens, int heads, int head_dim) {
  const int total = tokens * heads * (head_dim / 2);
  rope_kernel<<<(total + 255) / 256, 256>>>(x, cos_table, sin_table, positions, tokens, heads, head_dim);
}
