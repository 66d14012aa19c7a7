// Fills two pinned buffers in turn while the other one is copied.
#include "program.h"

constexpr int kCount = 4096, kPieces = 6;

__global__ void twice(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }

int main() {
  float *pinned[2], *x;
  cudaStream_t stream;
  cudaEvent_t copied[2];
  CHECK(cudaStreamCreate(&stream));
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaHostAlloc(&pinned[i], kCount * sizeof(float), cudaHostAllocWriteCombined));
    CHECK(cudaEventCreate(&copied[i]));
  }
  CHECK(cudaMalloc(&x, kPieces * kCount * sizeof(float)));
  for (int piece = 0; piece < kPieces; ++piece) {
    const int buffer = piece % 2;
#ifndef FAULTY
    CHECK(cudaEventSynchronize(copied[buffer]));
#endif
    for (int i = 0; i < kCount; ++i) {
      pinned[buffer][i] = piece;  // fault
    }
    CHECK(cudaMemcpyAsync(x + piece * kCount, pinned[buffer], kCount * sizeof(float),
                          cudaMemcpyHostToDevice, stream));
    CHECK(cudaEventRecord(copied[buffer], stream));
    twice<<<kCount / 256, 256, 0, stream>>>(x + piece * kCount);
  }
  CHECK(cudaStreamSynchronize(stream));
  std::vector<float> host(kPieces * kCount);
  CHECK(cudaMemcpy(host.data(), x, host.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < host.size(); ++i) EXPECT(host[i] == 2.0f * (i / kCount));
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaFreeHost(pinned[i]));
    CHECK(cudaEventDestroy(copied[i]));
  }
  CHECK(cudaFree(x));
  CHECK(cudaStreamDestroy(stream));
  return passed();
}
