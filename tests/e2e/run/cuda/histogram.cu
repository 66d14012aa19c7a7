// Counts values in bins of shared memory, block by block.
#include "program.h"

constexpr int kBins = 16;

__global__ void histogram(const unsigned char* values, int n, int* bins) {
  __shared__ int own[kBins];
  if (threadIdx.x < kBins) own[threadIdx.x] = 0;
#ifndef FAULTY
  __syncthreads();
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&own[values[i] % kBins], 1);  // fault
  }
  __syncthreads();
  if (threadIdx.x < kBins) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

int main() {
  const int n = 3000;
  std::vector<unsigned char> values(n);
  int expected[kBins] = {}, bins[kBins];
  for (int i = 0; i < n; ++i) ++expected[(values[i] = i * 7 % 251) % kBins];
  unsigned char* dvalues;
  int* dbins;
  CHECK(cudaMalloc(&dvalues, n));
  CHECK(cudaMalloc(&dbins, sizeof bins));
  CHECK(cudaMemcpy(dvalues, values.data(), n, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(dbins, 0, sizeof bins));
  histogram<<<4, 128>>>(dvalues, n, dbins);
  CHECK(cudaMemcpy(bins, dbins, sizeof bins, cudaMemcpyDeviceToHost));
#ifndef FAULTY
  for (int i = 0; i < kBins; ++i) EXPECT(bins[i] == expected[i]);
#endif
  CHECK(cudaFree(dvalues));
  CHECK(cudaFree(dbins));
  return passed();
}
