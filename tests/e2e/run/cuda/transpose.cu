// Transposes a matrix through tiles of shared memory with a padded row.
#include "program.h"

constexpr int kTile = 16;

__global__ void transpose(const float* x, float* y, int rows, int columns) {
  __shared__ float tile[kTile][kTile + 1];
  int column = blockIdx.x * kTile + threadIdx.x, row = blockIdx.y * kTile + threadIdx.y;
#ifdef FAULTY
  if (row < rows) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];  // fault
#else
  if (row < rows && column < columns) tile[threadIdx.y][threadIdx.x] = x[row * columns + column];
#endif
  __syncthreads();
  column = blockIdx.y * kTile + threadIdx.x, row = blockIdx.x * kTile + threadIdx.y;
  if (row < columns && column < rows) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}

int main() {
  const int rows = 37, columns = 53, n = rows * columns;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = i;
  float *dx, *dy;
  CHECK(cudaMalloc(&dx, n * sizeof(float)));
  CHECK(cudaMalloc(&dy, n * sizeof(float)));
  CHECK(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile), block(kTile, kTile);
  transpose<<<grid, block>>>(dx, dy, rows, columns);
  CHECK(cudaMemcpy(y.data(), dy, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(y[i % columns * rows + i / columns] == x[i]);
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dy));
  return passed();
}
