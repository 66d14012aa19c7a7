// Multiplies a tile with the matrix units (wmma) and adds it to an accumulator.
#include <cuda_fp16.h>
#include <mma.h>

#include "program.h"

using namespace nvcuda;

__global__ void multiply(const __half* a, const __half* b, float* c, int depth) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> of_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> of_b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int k = 0; k < depth; k += 16) {
    wmma::load_matrix_sync(of_a, a + k, depth);  // fault
    wmma::load_matrix_sync(of_b, b + k, depth);
    wmma::mma_sync(sum, of_a, of_b, sum);
  }
  wmma::store_matrix_sync(c, sum, 16, wmma::mem_row_major);
}

int main() {
  const int depth = 48, n = 16 * depth;
  std::vector<__half> a(n), b(n);
  std::vector<float> c(256);
  for (int i = 0; i < n; ++i) a[i] = __float2half(i % 5 - 2), b[i] = __float2half(i % 3 - 1);
  __half *da, *db;
  float* dc;
  CHECK(cudaMalloc(&da, n * sizeof(__half)));
  CHECK(cudaMalloc(&db, n * sizeof(__half)));
  CHECK(cudaMalloc(&dc, 256 * sizeof(float)));
  // The twin leaves the last row of A as it is, and reads the last row of the result.
#ifdef FAULTY
  const int written = n - depth;
#else
  const int written = n;
#endif
  CHECK(cudaMemcpy(da, a.data(), written * sizeof(__half), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), n * sizeof(__half), cudaMemcpyHostToDevice));
  multiply<<<1, 32>>>(da, db, dc, depth);
  CHECK(cudaMemcpy(c.data(), dc, 240 * sizeof(float), cudaMemcpyDeviceToHost));
  for (int row = 0; row < 15; ++row) {
    for (int column = 0; column < 16; ++column) {
      float sum = 0;
      for (int k = 0; k < depth; ++k) {
        sum += __half2float(a[row * depth + k]) * __half2float(b[column * depth + k]);
      }
      EXPECT(c[row * 16 + column] == sum);
    }
  }
  CHECK(cudaMemcpy(c.data() + 240, dc + 240, 16 * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  return passed();
}
