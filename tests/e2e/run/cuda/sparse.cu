// Multiplies a sparse matrix (CSR) and a vector, in managed memory.
#include "program.h"

__global__ void multiply(const int* begins, const int* columns, const float* values,
                         const float* x, float* y, int rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int i = begins[row]; i < begins[row + 1]; ++i) sum += values[i] * x[columns[i]];
  y[row] = sum;
}

template <typename T>
T* managed(int n) {
  T* made;
  CHECK(cudaMallocManaged(&made, n * sizeof(T)));
  return made;
}

int main() {
  const int rows = 100;
  int *begins = managed<int>(rows + 1), *columns = managed<int>(2 * rows);
  float *values = managed<float>(2 * rows), *x = managed<float>(rows), *y = managed<float>(rows);
  for (int row = 0; row < rows; ++row) {
    begins[row] = 2 * row;
    columns[2 * row] = row, columns[2 * row + 1] = (row + 1) % rows;
    values[2 * row] = 3, values[2 * row + 1] = -1, x[row] = row;
  }
  begins[rows] = 2 * rows;
  multiply<<<1, 128>>>(begins, columns, values, x, y, rows);
  CHECK(cudaDeviceSynchronize());
  for (int row = 0; row < rows; ++row) EXPECT(y[row] == 3 * row - (row + 1) % rows);
#ifdef FAULTY
  EXPECT(cudaFreeHost(y) == cudaErrorInvalidValue);  // fault
#endif
  for (void* one : {(void*)begins, (void*)columns, (void*)values, (void*)x, (void*)y}) {
    CHECK(cudaFree(one));
  }
  return passed();
}
