// Registers memory of the host, which kernels use in place, and launches from several host threads.
#include <thread>

#include "program.h"

__global__ void saxpy(float a, const float* x, float* y, int n) {
  extern __shared__ float tile[];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < n ? x[i] : 0;
  __syncthreads();
  if (i < n) y[i] += a * tile[threadIdx.x];
}

void on_a_thread(float a, const float* ones) {
  cudaStream_t own;
  CHECK(cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking));
  float *y, got;
  CHECK(cudaMalloc(&y, 1024));
  CHECK(cudaMemsetAsync(y, 0, 1024, own));
  saxpy<<<1, 256, 1024, own>>>(a, ones, y, 256);
  CHECK(cudaMemcpyAsync(&got, y + 9, sizeof got, cudaMemcpyDeviceToHost, own));
  CHECK(cudaStreamSynchronize(own));
  EXPECT(got == a);
  CHECK(cudaFree(y));
  CHECK(cudaStreamDestroy(own));
}

int main() {
  const int n = 1 << 13, bytes = 2 * n * sizeof(float);
  float* const both = static_cast<float*>(std::aligned_alloc(4096, bytes));
  for (int i = 0; i < 2 * n; ++i) both[i] = 1;
  CHECK(cudaHostRegister(both, bytes, cudaHostRegisterMapped));
  float *x, sum = 0;
  CHECK(cudaHostGetDevicePointer(&x, both, 0));
  cudaStream_t stream;
  cudaEvent_t begin, end;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  CHECK(cudaFuncSetAttribute(saxpy, cudaFuncAttributeMaxDynamicSharedMemorySize, 65536));
  CHECK(cudaEventRecord(begin, stream));
  saxpy<<<n / 256, 256, 65536, stream>>>(2, x, x + n, n);
  CHECK(cudaEventRecord(end, stream));
#ifndef FAULTY
  CHECK(cudaEventSynchronize(end));
#endif
  for (int i = n; i < 2 * n; ++i) sum += both[i];  // fault
  EXPECT(sum == 3.f * n);
  float milliseconds = -1;
  CHECK(cudaEventSynchronize(end));
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end));
  EXPECT(milliseconds >= 0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(on_a_thread, float(i), x);
  for (std::thread& one : threads) one.join();
  CHECK(cudaHostUnregister(both));
  std::free(both);
  CHECK(cudaEventDestroy(begin));
  CHECK(cudaEventDestroy(end));
  CHECK(cudaStreamDestroy(stream));
  return passed();
}
