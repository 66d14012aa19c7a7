// Sums in shared memory and by shuffles, with templates and cooperative groups.
#include <cooperative_groups.h>

#include "program.h"

namespace cg = cooperative_groups;

template <typename T, int kThreads>
__global__ void sum_blocks(const T* x, T* sums, int n) {
  __shared__ T part[kThreads];
  cg::thread_block block = cg::this_thread_block();
  int i = blockIdx.x * kThreads + threadIdx.x;
  part[threadIdx.x] = i < n ? x[i] : T(0);
#ifndef FAULTY
  block.sync();
#endif
  for (int half = kThreads / 2; half >= 32; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];  // fault
    block.sync();
  }
  if (threadIdx.x >= 32) return;
  auto warp = cg::coalesced_threads();
  T sum = part[threadIdx.x];
  for (int half = 16; half > 0; half /= 2) sum += warp.shfl_down(sum, half);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

template <typename T>
void run() {
  const int n = 1000, blocks = 8;
  std::vector<T> x(n, T(2)), sums(blocks);
  T *dx, *dsums;
  CHECK(cudaMalloc(&dx, n * sizeof(T)));
  CHECK(cudaMalloc(&dsums, blocks * sizeof(T)));
  CHECK(cudaMemcpy(dx, x.data(), n * sizeof(T), cudaMemcpyHostToDevice));
  sum_blocks<T, 128><<<blocks, 128>>>(dx, dsums, n);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(sums.data(), dsums, blocks * sizeof(T), cudaMemcpyDeviceToHost));
  T all = 0;
  for (T one : sums) all += one;
  EXPECT(all == T(2 * n));
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dsums));
}

int main() {
  run<int>();
  run<double>();
  return passed();
}
