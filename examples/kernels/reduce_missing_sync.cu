// PLANTED FAULT: a __syncthreads() is missing in the tree of the sum over shared memory, so that a warp
// may add halves which another warp has not written yet.
// A plain numpy.allclose passes at cols = 32: one warp holds every non-zero partial sum, and its lanes
// run in step. It often passes at larger sizes too, whenever the warps happen to run in order.
extern "C" __global__ void reduce_missing_sync(const float* x, float* y, int cols) {
  __shared__ float partial[256];
  const float* row = x + static_cast<long long>(blockIdx.x) * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 256) sum += row[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    // The __syncthreads() of every level belongs here.
  }
  if (threadIdx.x == 0) y[blockIdx.x] = partial[0];
}
