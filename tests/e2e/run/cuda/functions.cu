// Pointers to device functions, templates with lambdas, and assert().
#include <cassert>

#include "program.h"

using Function = int (*)(int);
__device__ int increment(int x) { return x + 1; }
__device__ int square(int x) { return x * x; }
__device__ Function table[] = {increment, square};

__global__ void call(int* x, int which, int limit) {
  int value = table[which](x[threadIdx.x]);
  assert(value < limit);  // fault
  x[threadIdx.x] = value;
}

template <typename Each>
__global__ void for_each(int* x, Each each) {
  x[threadIdx.x] = each(x[threadIdx.x]);
}

int main() {
  int host[32], *x;
  for (int i = 0; i < 32; ++i) host[i] = i;
  CHECK(cudaMalloc(&x, sizeof host));
  CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
  call<<<1, 32>>>(x, 0, 100);
  int by = 3;
  for_each<<<1, 32>>>(x, [by] __device__(int value) { return value * by; });
#ifdef FAULTY
  call<<<1, 32>>>(x, 1, 5000);
  EXPECT(cudaDeviceSynchronize() == cudaErrorAssert);
#else
  call<<<1, 32>>>(x, 1, 10000);
  CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 32; ++i) EXPECT(host[i] == 9 * (i + 1) * (i + 1));
#endif
  CHECK(cudaFree(x));
  return passed();
}
