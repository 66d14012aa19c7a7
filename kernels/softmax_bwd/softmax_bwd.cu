// dx = y * (dy - sum(y * dy)) of each row of a rows x cols matrix, y being what softmax gave. One
// block per row, any block size.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void softmax_bwd_body(const T* y, const T* dy, T* dx, int rows, int cols) {
  using C = Compute<T>;
  __shared__ C partial[32];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* given = y + row * cols;
    const T* up = dy + row * cols;
    C total = 0;
    for (int i = thread; i < cols; i += threads) total += widen(given[i]) * widen(up[i]);
    total = reduce_block<Sum>(total, partial);
    for (int i = thread; i < cols; i += threads) {
      dx[row * cols + i] = narrow<T>(widen(given[i]) * (widen(up[i]) - total));
    }
  }
}

GPUEMU_ENTRIES(softmax_bwd, (const T* y, const T* dy, T* dx, int rows, int cols),
               (y, dy, dx, rows, cols))

}  // namespace gpuemu_kernels
