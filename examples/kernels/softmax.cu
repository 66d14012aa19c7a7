// Softmax of every row, one block per row.
#include "block_reduce.cuh"

extern "C" __global__ void softmax(const float* x, float* y, int cols) {
  const float* row = x + static_cast<long long>(blockIdx.x) * cols;
  float* out = y + static_cast<long long>(blockIdx.x) * cols;
  float largest = Max::kIdentity;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) largest = Max::join(largest, row[i]);
  largest = block_reduce<Max>(largest);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - largest);
  sum = block_reduce<Sum>(sum);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] = expf(row[i] - largest) / sum;
}
