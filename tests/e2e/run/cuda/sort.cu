// A bitonic sort of one block in shared memory.
#include "program.h"

constexpr int kCount = 256;

__global__ void sort(int* x) {
  __shared__ int own[kCount];
  int i = threadIdx.x;
  own[i] = x[i];
  __syncthreads();
  for (int size = 2; size <= kCount; size *= 2) {
    for (int apart = size / 2; apart > 0; apart /= 2) {
      int other = i ^ apart;
      if (other > i) {
        bool swap = (own[i] > own[other]) == ((i & size) == 0);
        if (swap) {
          int kept = own[i];
          own[i] = own[other];
          own[other] = kept;
        }
#ifdef FAULTY
        __syncthreads();  // fault
#endif
      }
#ifndef FAULTY
      __syncthreads();
#endif
    }
  }
  x[i] = own[i];
}

int main() {
  int host[kCount], *x;
  for (int i = 0; i < kCount; ++i) host[i] = i * 73 % kCount;
  CHECK(cudaMalloc(&x, sizeof host));
  CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
  sort<<<1, kCount>>>(x);
#ifdef FAULTY
  (void)cudaDeviceSynchronize();
#else
  CHECK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) EXPECT(host[i] == i);
#endif
  CHECK(cudaFree(x));
  return passed();
}
