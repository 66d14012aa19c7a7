// Shares managed memory between the host and kernels.
#include "program.h"

__managed__ int total = 40;
__managed__ float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};

__global__ void add_up(const int* values, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&total, values[i]);
  if (i < 8) weights[i] *= 2;
}

int main() {
  const int n = 100;
  EXPECT(total == 40 && weights[7] == 8);
  int* values;
  CHECK(cudaMallocManaged(&values, n * sizeof(int)));
  for (int i = 0; i < n; ++i) values[i] = 1;
  total = 2;
  add_up<<<1, 128>>>(values, n);
#ifndef FAULTY
  CHECK(cudaDeviceSynchronize());
#endif
  EXPECT(total == 102);  // fault
  CHECK(cudaDeviceSynchronize());
  EXPECT(weights[7] == 16);
  int copied = 0;
  CHECK(cudaMemcpyFromSymbol(&copied, total, sizeof copied));
  EXPECT(copied == 102);
  cudaPointerAttributes about;
  CHECK(cudaPointerGetAttributes(&about, values));
  EXPECT(about.type == cudaMemoryTypeManaged && about.device == 0);
  CHECK(cudaPointerGetAttributes(&about, &weights[2]));
  EXPECT(about.type == cudaMemoryTypeManaged && about.hostPointer == &weights[2]);
  CHECK(cudaFree(values));
  return passed();
}
