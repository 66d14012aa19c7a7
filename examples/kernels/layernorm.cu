// (x - mean) / sqrt(variance + eps) * gamma + beta of every row, one block per row, in two passes: the
// variance of the differences does not cancel where the mean is large.
#include "block_reduce.cuh"

extern "C" __global__ void layernorm(const float* x, const float* gamma, const float* beta, float* y,
                                     int cols, float eps) {
  const float* row = x + static_cast<long long>(blockIdx.x) * cols;
  float* out = y + static_cast<long long>(blockIdx.x) * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += row[i];
  const float mean = block_reduce<Sum>(sum) / cols;
  float square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) square += (row[i] - mean) * (row[i] - mean);
  const float variance = block_reduce<Sum>(square) / cols;
  const float scale = 1.0f / sqrtf(variance + eps);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    out[i] = (row[i] - mean) * scale * gamma[i] + beta[i];
  }
}
