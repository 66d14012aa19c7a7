// Blocks take pieces of work from a counter, and the last one that ends adds up their sums.
#include "program.h"

constexpr int kCount = 10000, kPiece = 256;

__device__ unsigned next_piece, blocks_done;
__device__ float total;

__global__ void sum(const float* x, volatile float* sums) {
  __shared__ unsigned taken;
  __shared__ float parts[kPiece / 32];
  __shared__ bool is_last;
  float mine = 0;
  while (true) {
    if (threadIdx.x == 0) taken = atomicAdd(&next_piece, 1);  // fault
    __syncthreads();
    const unsigned piece = taken;
#ifndef FAULTY
    __syncthreads();
#endif
    if (piece * kPiece >= kCount) break;
    const unsigned i = piece * kPiece + threadIdx.x;
    if (i < kCount) mine += x[i];
  }
  for (int by = 16; by > 0; by /= 2) mine += __shfl_xor_sync(0xffffffffu, mine, by);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (const float part : parts) all += part;
    sums[blockIdx.x] = all;
    __threadfence();
    is_last = atomicAdd(&blocks_done, 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  float all = 0;
  for (unsigned block = 0; block < gridDim.x; ++block) all += sums[block];
  total = all;
}

int main() {
  int blocks = 0, multiprocessors = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sum, kPiece, 0));
  CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0));
  EXPECT(blocks > 0 && multiprocessors > 0);
  const int grid = blocks * multiprocessors < 16 ? blocks * multiprocessors : 16;
  std::vector<float> host(kCount);
  float expected = 0, *x, *sums;
  for (int i = 0; i < kCount; ++i) expected += host[i] = i % 7;
  CHECK(cudaMalloc(&x, kCount * sizeof(float)));
  CHECK(cudaMalloc(&sums, grid * sizeof(float)));
  CHECK(cudaMemcpy(x, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  sum<<<grid, kPiece>>>(x, sums);
  CHECK(cudaGetLastError());
  float result;
  CHECK(cudaMemcpyFromSymbol(&result, total, sizeof(float)));
#ifndef FAULTY
  EXPECT(result == expected);
#endif
  CHECK(cudaFree(x));
  CHECK(cudaFree(sums));
  return passed();
}
