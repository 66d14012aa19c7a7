// x / sqrt(mean(x^2) + eps) * weight of every row, one block per row.
#include "block_reduce.cuh"

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int cols, float eps) {
  const float* row = x + static_cast<long long>(blockIdx.x) * cols;
  float* out = y + static_cast<long long>(blockIdx.x) * cols;
  float square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) square += row[i] * row[i];
  const float scale = 1.0f / sqrtf(block_reduce<Sum>(square) / cols + eps);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] = row[i] * scale * weight[i];
}
