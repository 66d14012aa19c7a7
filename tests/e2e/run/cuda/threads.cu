// Works in four host threads, each with a default stream of its own (-default-stream per-thread).
#include <thread>

#include "program.h"

__global__ void mark(int* x, int value) { x[threadIdx.x] = value; }

void work(int number, int* result) {
  int *x, host[32];
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&x, sizeof host));
  CHECK(cudaMemset(x, 0, sizeof host));
  mark<<<1, 32>>>(x, number);
  CHECK(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, 0));
  CHECK(cudaStreamSynchronize(0));
  *result = host[31];
  CHECK(cudaFree(x));
}

/// The driver's functions are those of the default stream that the program has.
void check_entry_points() {
  void *own, *legacy, *per_thread;
  cudaDriverEntryPointQueryResult found;
  const auto find = [&](void** function, unsigned long long flags) {
    CHECK(cudaGetDriverEntryPointByVersion("cuStreamSynchronize", function, 7000, flags, &found));
    EXPECT(found == cudaDriverEntryPointSuccess);
  };
  find(&own, cudaEnableDefault);
  find(&legacy, cudaEnableLegacyStream);
  find(&per_thread, cudaEnablePerThreadDefaultStream);
  EXPECT(own == per_thread && own != legacy);
}

int main() {
  check_entry_points();
  int results[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i, &results[i]);
  for (std::thread& one : threads) one.join();
  for (int i = 0; i < 4; ++i) EXPECT(results[i] == i);
  return passed();
}
