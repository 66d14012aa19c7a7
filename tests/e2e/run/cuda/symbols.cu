// Reaches variables of the device from the host: constants, a counter, an array.
#include "program.h"

__constant__ float weights[4];
__device__ int counter;
__device__ float table[64];

__global__ void apply() {
  table[threadIdx.x] = weights[threadIdx.x % 4] * threadIdx.x;
  atomicAdd(&counter, 1);
}

int main() {
  const float given[4] = {1, 2, 3, 4};
  CHECK(cudaMemcpyToSymbol(weights, given, sizeof given));
  const float last = 5;
  CHECK(cudaMemcpyToSymbol(weights, &last, sizeof last, 3 * sizeof(float)));
  const int zero = 0;
  CHECK(cudaMemcpyToSymbolAsync(counter, &zero, sizeof zero, 0, cudaMemcpyHostToDevice, 0));
  apply<<<1, 64>>>();
  CHECK(cudaDeviceSynchronize());
  int count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  EXPECT(count == 64);
  size_t bytes = 0;
  CHECK(cudaGetSymbolSize(&bytes, table));
  EXPECT(bytes == 64 * sizeof(float));
  float* address = nullptr;
  CHECK(cudaGetSymbolAddress(reinterpret_cast<void**>(&address), table));
  float values[64];
  CHECK(cudaMemcpy(values, address, sizeof values, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) EXPECT(values[i] == (i % 4 == 3 ? 5.0f : given[i % 4]) * i);
  EXPECT(cudaMemcpyToSymbol(weights, given, sizeof given, 4) == cudaErrorInvalidValue);
  EXPECT(cudaMemcpyToSymbol(given, given, 4) == cudaErrorInvalidSymbol);
  char* block;
  CHECK(cudaMalloc(&block, 256));
#ifdef FAULTY
  (void)cudaFree(block + 64);  // fault
#endif
  CHECK(cudaFree(block));
  return passed();
}
