// Adds two vectors and measures the time with events.
#include "program.h"

__global__ void add(const float* x, const float* y, float* sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULTY
  sum[i] = x[i] + y[i];  // fault
#else
  if (i < n) sum[i] = x[i] + y[i];
#endif
}

int main() {
  const int n = 1000;
  std::vector<float> x(n), y(n), sum(n);
  for (int i = 0; i < n; ++i) x[i] = i, y[i] = 2 * i;
  float *dx, *dy, *dsum;
  CHECK(cudaMalloc(&dx, n * sizeof(float)));
  CHECK(cudaMalloc(&dy, n * sizeof(float)));
  CHECK(cudaMalloc(&dsum, n * sizeof(float)));
  CHECK(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dy, y.data(), n * sizeof(float), cudaMemcpyDefault));
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaEventRecord(begin));
  add<<<(n + 255) / 256, 256>>>(dx, dy, dsum, n);  // launch
  CHECK(cudaGetLastError());
  CHECK(cudaEventRecord(end));
  CHECK(cudaEventSynchronize(end));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  EXPECT(milliseconds >= 0);
  CHECK(cudaMemcpy(sum.data(), dsum, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(sum[i] == 3.0f * i);
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dy));
  CHECK(cudaFree(dsum));
  return passed();
}
