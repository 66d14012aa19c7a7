// Chooses launch sizes by occupancy, and opts in to more shared memory.
#include "program.h"

extern __shared__ float pool[];

__global__ void reverse(float* x, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) pool[i] = x[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) x[i] = pool[n - 1 - i];
}

__global__ void __launch_bounds__(128) small(float* x) { x[threadIdx.x] = 1; }

__constant__ float weights[64];
__global__ void chosen(float* x, int which) {
  float kept[32];
  for (int i = 0; i < 32; ++i) kept[i] = weights[i] * x[i];
  x[threadIdx.x] = kept[which];
}

int main() {
  int grid = 0, block = 0, blocks = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, reverse, 0, 0));
  EXPECT(grid > 0 && block > 0 && block % 32 == 0);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 256, 0));
  EXPECT(blocks == 8);
  cudaFuncAttributes about;
  CHECK(cudaFuncGetAttributes(&about, small));
  EXPECT(about.maxThreadsPerBlock == 128 && about.ptxVersion == 80 && about.localSizeBytes == 0);
  CHECK(cudaFuncGetAttributes(&about, chosen));
  EXPECT(about.localSizeBytes == 32 * sizeof(float) && about.constSizeBytes == 64 * sizeof(float));
  const int n = 15000;
  float* x;
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  std::vector<float> values(n);
  for (int i = 0; i < n; ++i) values[i] = i;
  CHECK(cudaMemcpy(x, values.data(), n * sizeof(float), cudaMemcpyHostToDevice));
#ifndef FAULTY
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize,
                             n * sizeof(float)));
#endif
  reverse<<<1, block, n * sizeof(float)>>>(x, n);  // fault
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(values.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost));
#ifndef FAULTY
  for (int i = 0; i < n; ++i) EXPECT(values[i] == n - 1 - i);
#endif
  CHECK(cudaFree(x));
  return passed();
}
