// Copies to shared memory with the barriers and pipelines of CUDA's C++ library.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include "program.h"

namespace cg = cooperative_groups;
constexpr int kBlock = 128, kStages = 2;

__global__ void with_barrier(const int* in, int* out, int n) {
  __shared__ cuda::barrier<cuda::thread_scope_block> full;
  __shared__ int tile[kBlock];
  auto block = cg::this_thread_block();
  if (block.thread_rank() == 0) init(&full, block.size());
  block.sync();
  int sum = 0;
  for (int at = 0; at < n; at += kBlock) {
    cuda::memcpy_async(block, tile, in + at, sizeof tile, full);
    full.arrive_and_wait();
    sum += tile[kBlock - 1 - threadIdx.x];  // fault
#ifndef FAULTY
    block.sync();  // Before the next copy, which writes what others still read.
#endif
  }
  out[threadIdx.x] = sum;
}

__global__ void with_pipeline(const int* in, int* out, int n) {
  __shared__ int tiles[kStages][kBlock];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, kStages> state;
  auto block = cg::this_thread_block();
  auto pipe = cuda::make_pipeline(block, &state);
  int sum = 0, fetched = 0;
  for (int i = 0; i < n / kBlock; ++i) {
    for (; fetched < n / kBlock && fetched < i + kStages; ++fetched) {
      pipe.producer_acquire();
      cuda::memcpy_async(block, tiles[fetched % kStages], in + fetched * kBlock, sizeof tiles[0],
                         pipe);
      pipe.producer_commit();
    }
    pipe.consumer_wait();
    sum += tiles[i % kStages][kBlock - 1 - threadIdx.x];
    pipe.consumer_release();
  }
  out[threadIdx.x] = sum;
}

__global__ void count(unsigned* numbers, double* halves) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*numbers).fetch_add(1);
  cuda::atomic_ref<double, cuda::thread_scope_device>(*halves).fetch_add(0.5);
}

int main() {
  const int n = 8 * kBlock;
  std::vector<int> values(n), sums(kBlock);
  for (int i = 0; i < n; ++i) values[i] = i * 7 % 13;
  int *in, *out;
  CHECK(cudaMalloc(&in, n * sizeof(int)));
  CHECK(cudaMalloc(&out, kBlock * sizeof(int)));
  CHECK(cudaMemcpy(in, values.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  for (auto kernel : {with_barrier, with_pipeline}) {
    kernel<<<1, kBlock>>>(in, out, n);
    CHECK(cudaMemcpy(sums.data(), out, kBlock * sizeof(int), cudaMemcpyDeviceToHost));
    for (int thread = 0; thread < kBlock; ++thread) {
      int sum = 0;
      for (int at = 0; at < n; at += kBlock) sum += values[at + kBlock - 1 - thread];
      EXPECT(sums[thread] == sum);
    }
  }
  unsigned *numbers, counted;
  double *halves, half;
  CHECK(cudaMalloc(&numbers, sizeof counted));
  CHECK(cudaMalloc(&halves, sizeof half));
  CHECK(cudaMemset(numbers, 0, sizeof counted));
  CHECK(cudaMemset(halves, 0, sizeof half));
  count<<<8, 64>>>(numbers, halves);
  CHECK(cudaMemcpy(&counted, numbers, sizeof counted, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&half, halves, sizeof half, cudaMemcpyDeviceToHost));
  EXPECT(counted == 512 && half == 256);
  for (void* one : {(void*)in, (void*)out, (void*)numbers, (void*)halves}) CHECK(cudaFree(one));
  return passed();
}
