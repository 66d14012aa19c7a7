// Multiplies matrices by tiles in dynamic shared memory.
#include "program.h"

constexpr int kTile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  extern __shared__ float tiles[];
  float *of_a = tiles, *of_b = tiles + kTile * kTile;
  int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < n; k += kTile) {
    of_a[threadIdx.y * kTile + threadIdx.x] = a[row * n + k + threadIdx.x];  // fault
    of_b[threadIdx.y * kTile + threadIdx.x] = b[(k + threadIdx.y) * n + column];
    __syncthreads();
    for (int i = 0; i < kTile; ++i) {
      sum += of_a[threadIdx.y * kTile + i] * of_b[i * kTile + threadIdx.x];
    }
#ifndef FAULTY
    __syncthreads();
#endif
  }
  c[row * n + column] = sum;
}

int main() {
  const int n = 64, bytes = n * n * sizeof(float);
  std::vector<float> a(n * n), b(n * n), c(n * n);
  for (int i = 0; i < n * n; ++i) a[i] = i % 7 - 3, b[i] = i % 5 - 2;
  float *da, *db, *dc;
  CHECK(cudaMalloc(&da, bytes));
  CHECK(cudaMalloc(&db, bytes));
  CHECK(cudaMalloc(&dc, bytes));
  CHECK(cudaMemcpy(da, a.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), bytes, cudaMemcpyHostToDevice));
  matmul<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile), 2 * kTile * kTile * sizeof(float)>>>(
      da, db, dc, n);
  CHECK(cudaMemcpy(c.data(), dc, bytes, cudaMemcpyDeviceToHost));
#ifndef FAULTY
  for (int row = 0; row < n; row += 9) {
    for (int column = 0; column < n; column += 7) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[row * n + k] * b[k * n + column];
      EXPECT(c[row * n + column] == sum);
    }
  }
#endif
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  return passed();
}
