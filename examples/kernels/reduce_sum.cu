// The sum of all elements: blocks sum their part and add it to the result with a float atomic, in no
// fixed order, so that two runs may differ in the last places. `set_zero` runs first.
#include "block_reduce.cuh"

extern "C" __global__ void set_zero(float* y) { *y = 0.0f; }

extern "C" __global__ void reduce_sum(const float* x, float* y, int n) {
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  sum = block_reduce<Sum>(sum);
  if (threadIdx.x == 0) atomicAdd(y, sum);
}
