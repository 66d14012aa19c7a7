// y[row] = sum of the row of a rows x cols matrix, in float. One block per row, any block size.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void reduce_sum_body(const T* x, T* y, int rows, int cols) {
  __shared__ Compute<T> partial[32];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    Compute<T> total = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) total += widen(x[row * cols + i]);
    total = reduce_block<Sum>(total, partial);
    if (threadIdx.x == 0) y[row] = narrow<T>(total);
  }
}

GPUEMU_ENTRIES(reduce_sum, (const T* x, T* y, int rows, int cols), (x, y, rows, cols))

}  // namespace gpuemu_kernels
