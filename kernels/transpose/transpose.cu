// y[cols x rows] = transpose of x[rows x cols]. Block 32 x 8, grid cdiv(cols, 32) x cdiv(rows, 32).
#include "kernels/element.cuh"

namespace gpuemu_kernels {

constexpr int kTile = 32;
constexpr int kDown = 8;  ///< Rows of the block.
constexpr int kSteps = kTile / kDown;

template <typename T>
__device__ void transpose_body(const T* x, T* y, int rows, int cols) {
  // One more column keeps the reads by column free of bank conflicts.
  __shared__ T tile[kTile][kTile + 1];
  const int col = blockIdx.x * kTile + threadIdx.x;
  // All loads are on their way before the first is waited for.
  T held[kSteps];
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int row = blockIdx.y * kTile + threadIdx.y + step * kDown;
    if (row < rows && col < cols) held[step] = x[static_cast<long long>(row) * cols + col];
  }
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int row = blockIdx.y * kTile + threadIdx.y + step * kDown;
    if (row < rows && col < cols) tile[threadIdx.y + step * kDown][threadIdx.x] = held[step];
  }
  __syncthreads();
  const int out_col = blockIdx.y * kTile + threadIdx.x;
#pragma unroll
  for (int step = 0; step < kSteps; ++step) {
    const int out_row = blockIdx.x * kTile + threadIdx.y + step * kDown;
    if (out_row < cols && out_col < rows) {
      y[static_cast<long long>(out_row) * rows + out_col] =
          tile[threadIdx.x][threadIdx.y + step * kDown];
    }
  }
}

GPUEMU_ENTRIES(transpose, (const T* x, T* y, int rows, int cols), (x, y, rows, cols))

}  // namespace gpuemu_kernels
