// A fast Walsh transform in shared memory: applied twice it gives the input times its length.
#include "program.h"

constexpr int kLength = 256;

__global__ void transform(float* x) {
  __shared__ float part[kLength];
  float* const mine = x + blockIdx.x * kLength;
  for (int i = threadIdx.x; i < kLength; i += blockDim.x) part[i] = mine[i];
  for (int stride = 1; stride < kLength; stride *= 2) {
#ifndef FAULTY
    __syncthreads();
#endif
    int low = threadIdx.x % stride, at = 2 * (threadIdx.x - low) + low;
    float a = part[at], b = part[at + stride];  // fault
    part[at] = a + b;
    part[at + stride] = a - b;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kLength; i += blockDim.x) mine[i] = part[i];
}

int main() {
  const int blocks = 3, n = blocks * kLength;
  std::vector<float> x(n), out(n);
  for (int i = 0; i < n; ++i) x[i] = i % 11;
  float* device;
  CHECK(cudaMalloc(&device, n * sizeof(float)));
  CHECK(cudaMemcpy(device, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  for (int i = 0; i < 2; ++i) transform<<<blocks, kLength / 2>>>(device);
  CHECK(cudaMemcpy(out.data(), device, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(out[i] == kLength * x[i]);
  CHECK(cudaFree(device));
  return passed();
}
