// Frees and allocates in the order of one stream what another stream uses.
#include "program.h"

constexpr int kCount = 2000, kThreads = 256, kBlocks = (kCount + kThreads - 1) / kThreads;

__global__ void fill(int* x) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) x[i] = i;
}

__global__ void reverse(const int* x, int* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) y[i] = x[kCount - 1 - i];
}

int main() {
  cudaStream_t maker, reader;
  CHECK(cudaStreamCreateWithFlags(&maker, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking));
  cudaEvent_t made, read;
  CHECK(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&read, cudaEventDisableTiming));
  int *x, *y;
  CHECK(cudaMalloc(&y, kCount * sizeof(int)));
  CHECK(cudaMallocAsync(&x, kCount * sizeof(int), maker));
  fill<<<kBlocks, kThreads, 0, maker>>>(x);
  CHECK(cudaEventRecord(made, maker));
  CHECK(cudaStreamWaitEvent(reader, made, 0));
  reverse<<<kBlocks, kThreads, 0, reader>>>(x, y);
  CHECK(cudaEventRecord(read, reader));
#ifndef FAULTY
  CHECK(cudaStreamWaitEvent(maker, read, 0));
#endif
  CHECK(cudaFreeAsync(x, maker));  // fault
  CHECK(cudaMallocAsync(&x, kCount * sizeof(int), maker));
  CHECK(cudaStreamSynchronize(maker));  // From here on the memory is there for every stream.
  fill<<<kBlocks, kThreads, 0, reader>>>(x);
  CHECK(cudaStreamSynchronize(reader));
  CHECK(cudaFreeAsync(x, maker));
  std::vector<int> host(kCount);
  CHECK(cudaMemcpy(host.data(), y, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  for (int i = 0; i < kCount; ++i) EXPECT(host[i] == kCount - 1 - i);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(y));
  for (cudaEvent_t event : {made, read}) CHECK(cudaEventDestroy(event));
  for (cudaStream_t stream : {maker, reader}) CHECK(cudaStreamDestroy(stream));
  return passed();
}
