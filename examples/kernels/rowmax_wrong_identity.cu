// PLANTED FAULT: the maximum of a row starts at 0 instead of minus infinity. Where all elements are far
// below 0 every exp(x - 0) is tiny or 0, and the quotient loses its digits or is 0 / 0.
// A plain numpy.allclose passes at rows = 16, cols = 128 with standard normal values: nearly every row
// then has an element above 0, and elsewhere the error is small.
#include "block_reduce.cuh"

extern "C" __global__ void rowmax_wrong_identity(const float* x, float* y, int cols) {
  const float* row = x + static_cast<long long>(blockIdx.x) * cols;
  float* out = y + static_cast<long long>(blockIdx.x) * cols;
  float largest = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) largest = Max::join(largest, row[i]);
  largest = block_reduce<Max>(largest);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - largest);
  sum = block_reduce<Sum>(sum);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[i] = expf(row[i] - largest) / sum;
}
