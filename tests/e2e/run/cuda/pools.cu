// Allocates in the order of a stream, and calls the host from it.
#include "program.h"

__global__ void fill(int* x, int value) { x[threadIdx.x] = value; }

void CUDART_CB count(void* counter) { ++*static_cast<int*>(counter); }
void CUDART_CB finished(cudaStream_t, cudaError_t code, void* counter) {
  if (code == cudaSuccess) ++*static_cast<int*>(counter);
}

int main() {
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  int *x, *kept, host[32], calls = 0;
  CHECK(cudaMallocAsync(&x, sizeof host, stream));
  fill<<<1, 32, 0, stream>>>(x, 5);
  CHECK(cudaMemcpyAsync(host, x, sizeof host, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaLaunchHostFunc(stream, count, &calls));
  CHECK(cudaStreamAddCallback(stream, finished, &calls, 0));
  CHECK(cudaFreeAsync(x, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(host[31] == 5 && calls == 2);
  CHECK(cudaMalloc(&kept, 64));  // fault
  cudaMemPool_t pool;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
  CHECK(cudaMemPoolTrimTo(pool, 0));
  size_t free_bytes, total_bytes;
  CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  EXPECT(free_bytes <= total_bytes && total_bytes == size_t(8) << 30);
#ifndef FAULTY
  CHECK(cudaFree(kept));
#endif
  CHECK(cudaStreamDestroy(stream));
  return passed();
}
