// PLANTED FAULT: the tail of the last block is not masked, so threads beyond n read and write past the
// ends of both tensors.
// A plain numpy.allclose passes at n = 1024, a multiple of the block of 256 threads.
extern "C" __global__ void scale_missing_tail_mask(const float* x, float* y, int n, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  (void)n;  // The mask `if (i < n)` belongs here.
  y[i] = factor * x[i];
}
