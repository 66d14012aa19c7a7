// y[cols x rows] = transpose of x[rows x cols]. Block 32 x 8, grid cdiv(cols, 32) x cdiv(rows, 32).
#include "kernels/element.cuh"

namespace gpuemu_kernels {

constexpr int kTile = 32;

template <typename T>
__device__ void transpose_body(const T* x, T* y, int rows, int cols) {
  // One more column keeps the reads by column free of bank conflicts.
  __shared__ T tile[kTile][kTile + 1];
  const int col = blockIdx.x * kTile + threadIdx.x;
  for (int i = threadIdx.y; i < kTile; i += blockDim.y) {
    const int row = blockIdx.y * kTile + i;
    if (row < rows && col < cols)
      tile[i][threadIdx.x] = x[static_cast<long long>(row) * cols + col];
  }
  __syncthreads();
  const int out_col = blockIdx.y * kTile + threadIdx.x;
  for (int i = threadIdx.y; i < kTile; i += blockDim.y) {
    const int out_row = blockIdx.x * kTile + i;
    if (out_row < cols && out_col < rows) {
      y[static_cast<long long>(out_row) * rows + out_col] = tile[threadIdx.x][i];
    }
  }
}

GPUEMU_ENTRIES(transpose, (const T* x, T* y, int rows, int cols), (x, y, rows, cols))

}  // namespace gpuemu_kernels
