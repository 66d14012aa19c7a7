// Groups of cooperative groups: coalesced threads, threads with one label, and the whole grid.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "program.h"

namespace cg = cooperative_groups;

constexpr int kCount = 1000, kThreads = 128, kBlocks = 8, kAll = kThreads * kBlocks, kLabels = 4;

__global__ void compact(const int* in, int* out, unsigned* found, int* sums, int* moved) {
  const auto grid = cg::this_grid();
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const int i = static_cast<int>(grid.thread_rank());
  if (i < kCount && in[i] % 3 == 0) {
    const auto active = cg::coalesced_threads();
    unsigned first = 0;
    if (active.thread_rank() == 0) first = atomicAdd(found, active.num_threads());
    out[active.shfl(first, 0) + active.thread_rank()] = in[i];
  }
  const int label = i % kLabels;
  const auto same = cg::labeled_partition(warp, label);
  const int sum = cg::reduce(same, i, cg::plus<int>());
  if (same.thread_rank() == 0) atomicAdd(&sums[label], sum);
  if (cg::exclusive_scan(warp, 1) != static_cast<int>(warp.thread_rank())) __trap();
  moved[i] = i;
#ifndef FAULTY
  grid.sync();
#endif
  moved[kAll + i] = moved[(i + kThreads) % kAll];  // fault
}

int main() {
  std::vector<int> host(kCount), back(2 * kAll), sums(kLabels);
  unsigned expected = 0, count;
  for (int i = 0; i < kCount; ++i) expected += (host[i] = i * 7 % 1001) % 3 == 0;
  int *in, *out, *labels, *moved;
  unsigned* found;
  CHECK(cudaMalloc(&in, kCount * sizeof(int)));
  CHECK(cudaMalloc(&out, kCount * sizeof(int)));
  CHECK(cudaMalloc(&labels, kLabels * sizeof(int)));
  CHECK(cudaMalloc(&moved, back.size() * sizeof(int)));
  CHECK(cudaMalloc(&found, sizeof(unsigned)));
  CHECK(cudaMemcpy(in, host.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(labels, 0, kLabels * sizeof(int)));
  CHECK(cudaMemset(found, 0, sizeof(unsigned)));
  void* arguments[] = {&in, &out, &found, &labels, &moved};
  CHECK(cudaLaunchCooperativeKernel((const void*)compact, kBlocks, kThreads, arguments, 0, 0));
  CHECK(cudaMemcpy(&count, found, sizeof count, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(sums.data(), labels, kLabels * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(count == expected);
  for (int label = 0; label < kLabels; ++label) {
    EXPECT(sums[label] == kAll / kLabels * label + (kAll / kLabels - 1) * kAll / 2);
  }
#ifndef FAULTY
  CHECK(cudaMemcpy(back.data(), moved, back.size() * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kAll; ++i) EXPECT(back[kAll + i] == (i + kThreads) % kAll);
#endif
  for (void* memory : {(void*)in, (void*)out, (void*)found, (void*)labels, (void*)moved}) {
    CHECK(cudaFree(memory));
  }
  return passed();
}
