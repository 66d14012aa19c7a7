// Sums numbers over clusters of 16 blocks, which a program has to ask for, through the shared memory
// of the other blocks.
#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

__global__ void sum(const int* from, int* to) {
  __shared__ int mine;
  auto cluster = cg::this_cluster();
  if (threadIdx.x == 0) mine = 0;
  __syncthreads();
  atomicAdd(&mine, from[blockIdx.x * blockDim.x + threadIdx.x]);
  cluster.sync();
  if (threadIdx.x < cluster.num_blocks()) {
    int other = *cluster.map_shared_rank(&mine, threadIdx.x);
    atomicAdd(&to[blockIdx.x], other);
  }
  cluster.sync();
}

int main() {
  const int threads = 64, blocks = 32, size = 16;
  std::vector<int> numbers(threads * blocks), sums(blocks);
  for (int i = 0; i < threads * blocks; ++i) numbers[i] = i % 97;
  int *from, *to;
  CHECK(cudaMalloc(&from, numbers.size() * sizeof(int)));
  CHECK(cudaMalloc(&to, blocks * sizeof(int)));
  CHECK(cudaMemcpy(from, numbers.data(), numbers.size() * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(to, 0, blocks * sizeof(int)));
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = size;
  attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = blocks;
  config.blockDim = threads;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int most = 0;
  CHECK(cudaOccupancyMaxPotentialClusterSize(&most, sum, &config));
  EXPECT(most == 8);
  EXPECT(cudaLaunchKernelEx(&config, sum, static_cast<const int*>(from), to) == cudaErrorInvalidClusterSize);
  (void)cudaGetLastError();
  CHECK(cudaFuncSetAttribute(sum, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  CHECK(cudaOccupancyMaxPotentialClusterSize(&most, sum, &config));
  EXPECT(most == 16);
  CHECK(cudaLaunchKernelEx(&config, sum, static_cast<const int*>(from), to));
  CHECK(cudaMemcpy(sums.data(), to, blocks * sizeof(int), cudaMemcpyDeviceToHost));
  for (int cluster = 0; cluster < blocks / size; ++cluster) {
    int total = 0;
    for (int i = 0; i < size * threads; ++i) total += numbers[cluster * size * threads + i];
    for (int i = 0; i < size; ++i) EXPECT(sums[cluster * size + i] == total);
  }
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  return passed();
}
