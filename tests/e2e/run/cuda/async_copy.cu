// Copies to shared memory in the background (cp.async) in two stages.
#include <cuda_pipeline.h>

#include "program.h"

constexpr int kPart = 128;

__global__ void sum_parts(const int4* x, int* sums, int parts) {
  __shared__ int4 stages[2][kPart];
  int4* mine[2] = {&stages[0][threadIdx.x], &stages[1][threadIdx.x]};
  __pipeline_memcpy_async(mine[0], &x[threadIdx.x], sizeof(int4));
  __pipeline_commit();
  int sum = 0;
  for (int part = 0; part < parts; ++part) {
    if (part + 1 < parts) {
      __pipeline_memcpy_async(mine[(part + 1) % 2], &x[(part + 1) * kPart + threadIdx.x],
                              sizeof(int4));
    }
    __pipeline_commit();
#ifdef FAULTY
    __pipeline_wait_prior(2);
#else
    __pipeline_wait_prior(1);
#endif
    int4 got = *mine[part % 2];  // fault
    sum += got.x + got.y + got.z + got.w;
  }
  sums[threadIdx.x] = sum;
}

int main() {
  const int parts = 6, n = parts * kPart * 4;
  std::vector<int> x(n), sums(kPart);
  for (int i = 0; i < n; ++i) x[i] = i % 10;
  int4* dx;
  int* dsums;
  CHECK(cudaMalloc(&dx, n * sizeof(int)));
  CHECK(cudaMalloc(&dsums, kPart * sizeof(int)));
  CHECK(cudaMemcpy(dx, x.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  sum_parts<<<1, kPart>>>(dx, dsums, parts);
  CHECK(cudaMemcpy(sums.data(), dsums, kPart * sizeof(int), cudaMemcpyDeviceToHost));
#ifndef FAULTY
  int expected = 0, got = 0;
  for (int one : x) expected += one;
  for (int one : sums) got += one;
  EXPECT(got == expected);
#endif
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dsums));
  return passed();
}
