// Estimates pi from random points, with a generator of its own in each thread.
#include "program.h"

struct Generator {
  unsigned state;
  __device__ float next() {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) * (1.0f / (1 << 24));
  }
};

__global__ void seed(Generator* all, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULTY
  if (i >= n / 2) return;
#endif
  if (i < n) all[i].state = 12345u + 7919u * i;
}

__global__ void throw_points(Generator* all, int points, unsigned long long* hits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Generator mine = all[i];  // fault
  unsigned inside = 0;
  for (int k = 0; k < points; ++k) {
    float x = mine.next(), y = mine.next();
    if (x * x + y * y <= 1) ++inside;
  }
  all[i] = mine;
  atomicAdd(hits, inside);
}

int main() {
  const int threads = 256, points = 200;
  Generator* all;
  unsigned long long *hits, host = 0;
  CHECK(cudaMalloc(&all, threads * sizeof(Generator)));
  CHECK(cudaMalloc(&hits, sizeof *hits));
  CHECK(cudaMemset(hits, 0, sizeof *hits));
  seed<<<2, 128>>>(all, threads);
  throw_points<<<2, 128>>>(all, points, hits);
  CHECK(cudaMemcpy(&host, hits, sizeof host, cudaMemcpyDeviceToHost));
#ifndef FAULTY
  EXPECT(std::fabs(4.0 * host / (threads * points) - 3.1416) < 0.05);
#endif
  CHECK(cudaFree(all));
  CHECK(cudaFree(hits));
  return passed();
}
