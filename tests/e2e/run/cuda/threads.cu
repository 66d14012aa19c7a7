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

int main() {
  int results[4];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i, &results[i]);
  for (std::thread& one : threads) one.join();
  for (int i = 0; i < 4; ++i) EXPECT(results[i] == i);
  return passed();
}
