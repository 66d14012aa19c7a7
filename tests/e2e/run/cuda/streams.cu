// Overlaps copies from pinned memory with kernels of two streams, which wait for each other.
#include "program.h"

__global__ void scale(float* x, float by, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;  // kernel
}

int main() {
  const int n = 4096;
  float *host, *device;
  CHECK(cudaMallocHost(&host, n * sizeof(float)));
  CHECK(cudaMalloc(&device, n * sizeof(float)));
  for (int i = 0; i < n; ++i) host[i] = i;
  cudaStream_t first, second;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithPriority(&second, cudaStreamNonBlocking, 0));
  cudaEvent_t copied;
  CHECK(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
  CHECK(cudaMemcpyAsync(device, host, n * sizeof(float), cudaMemcpyHostToDevice, first));
  scale<<<16, 256, 0, first>>>(device, 2, n);
  CHECK(cudaEventRecord(copied, first));
#ifndef FAULTY
  CHECK(cudaStreamWaitEvent(second, copied, 0));
#endif
  scale<<<16, 256, 0, second>>>(device, 3, n);  // fault
  CHECK(cudaMemcpyAsync(host, device, n * sizeof(float), cudaMemcpyDeviceToHost, second));
  CHECK(cudaStreamSynchronize(second));
  CHECK(cudaStreamSynchronize(first));
  EXPECT(cudaStreamQuery(second) == cudaSuccess);
  for (int i = 0; i < n; ++i) EXPECT(host[i] == 6.0f * i);
  CHECK(cudaStreamDestroy(first));
  CHECK(cudaStreamDestroy(second));
  CHECK(cudaEventDestroy(copied));
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(device));
  return passed();
}
