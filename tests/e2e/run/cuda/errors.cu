// Reads errors as the runtime keeps them: for each thread, until they are read.
#include <cstring>
#include <thread>

#include "program.h"

__global__ void nothing() {}
__global__ void print(int x) { printf("device says %d\n", x); }

int main() {
  int count = 0, version = 0;
  CHECK(cudaGetDeviceCount(&count));
  CHECK(cudaRuntimeGetVersion(&version));
  EXPECT(count == 1 && version == CUDART_VERSION);
  EXPECT(cudaSetDevice(7) == cudaErrorInvalidDevice);
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidDevice);
  std::thread([] { EXPECT(cudaGetLastError() == cudaSuccess); }).join();
  EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaSuccess);
  nothing<<<1, 2048>>>();
  EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
  nothing<<<0, 32>>>();
  EXPECT(cudaPeekAtLastError() == cudaErrorInvalidConfiguration ||
         cudaPeekAtLastError() == cudaErrorInvalidValue);
  (void)cudaGetLastError();
  void* memory = nullptr;
  EXPECT(cudaMalloc(&memory, size_t(1) << 50) == cudaErrorMemoryAllocation);
  CHECK(cudaMalloc(&memory, 0));
  EXPECT(memory == nullptr && cudaFree(nullptr) == cudaSuccess);
  int local = 0;
  CHECK(cudaMalloc(&memory, 4));
  EXPECT(cudaMemcpy(&local, memory, 4, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpy(&local, memory, 4, cudaMemcpyKind(9)) == cudaErrorInvalidMemcpyDirection);
  EXPECT(std::strcmp(cudaGetErrorName(cudaErrorInvalidPitchValue), "cudaErrorInvalidPitchValue") ==
         0);
  EXPECT(std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
  (void)cudaGetLastError();
  cudaDeviceProp about;
  CHECK(cudaGetDeviceProperties(&about, 0));
  EXPECT(about.major == 8 && about.minor == 0 && about.warpSize == 32);
  EXPECT(about.totalGlobalMem > 0 && about.maxThreadsPerBlock == 1024 && about.managedMemory == 1);
  print<<<1, 1>>>(42);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(memory));
  CHECK(cudaDeviceReset());
  print<<<1, 1>>>(43);
  CHECK(cudaDeviceSynchronize());
  return passed();
}
