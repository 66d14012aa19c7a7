// Two devices that read each other's memory, in an order that events give (--devices 2).
#include "program.h"

constexpr int kCount = 1000, kBlocks = 4, kThreads = 256;

__global__ void fill(float* x, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) x[i] = value;
}

__global__ void add(float* mine, const float* others) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) mine[i] += others[i];  // fault
}

int main() {
  int count = 0;
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count == 2);
  float *x[2], *copy;
  cudaStream_t streams[2];
  cudaEvent_t done[2];
  for (int device = 0; device < 2; ++device) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaMalloc(&x[device], kCount * sizeof(float)));
    CHECK(cudaStreamCreate(&streams[device]));
    CHECK(cudaEventCreateWithFlags(&done[device], cudaEventDisableTiming));
#ifdef FAULTY
    if (device == 0)
#endif
      CHECK(cudaDeviceEnablePeerAccess(1 - device, 0));
    fill<<<kBlocks, kThreads, 0, streams[device]>>>(x[device], device + 1);
    CHECK(cudaEventRecord(done[device], streams[device]));
  }
  for (int device = 0; device < 2; ++device) {
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamWaitEvent(streams[device], done[1 - device], 0));
    add<<<kBlocks, kThreads, 0, streams[device]>>>(x[device], x[1 - device]);
    CHECK(cudaEventRecord(done[device], streams[device]));
  }
  const cudaError_t waited = cudaStreamSynchronize(streams[1]);
#ifndef FAULTY
  CHECK(waited);
  CHECK(cudaSetDevice(0));
  CHECK(cudaMalloc(&copy, kCount * sizeof(float)));
  CHECK(cudaMemcpyPeer(copy, 0, x[1], 1, kCount * sizeof(float)));
  std::vector<float> host(kCount);
  CHECK(cudaMemcpy(host.data(), copy, kCount * sizeof(float), cudaMemcpyDefault));
  for (const float value : host) EXPECT(value == 5);
  CHECK(cudaFree(copy));
  for (int device = 0; device < 2; ++device) {
    CHECK(cudaFree(x[device]));
    CHECK(cudaEventDestroy(done[device]));
    CHECK(cudaStreamDestroy(streams[device]));
  }
#endif
  return passed();
}
