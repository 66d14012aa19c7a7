// Relocatable device code: a variable and a function that the device's linker finds.
#include "program.h"

extern __device__ int offset_of_all;
__device__ int moved(int at);

__global__ void move(const int* from, int* to, int n) {
  int i = threadIdx.x;
#ifdef FAULTY
  to[moved(i)] = from[i];  // fault
#else
  if (moved(i) < n) to[moved(i)] = from[i];
#endif
}

__device__ int offset_of_all = 5;
__device__ __noinline__ int moved(int at) { return at + offset_of_all; }

int main() {
  const int n = 32;
  std::vector<int> host(n);
  for (int i = 0; i < n; ++i) host[i] = i;
  int *from, *to;
  CHECK(cudaMalloc(&from, n * sizeof(int)));
  CHECK(cudaMalloc(&to, n * sizeof(int)));
  CHECK(cudaMemcpy(from, host.data(), n * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemset(to, 0, n * sizeof(int)));
  move<<<1, n>>>(from, to, n);
#ifdef FAULTY
  (void)cudaDeviceSynchronize();
#endif
  CHECK(cudaMemcpy(host.data(), to, n * sizeof(int), cudaMemcpyDeviceToHost));
  EXPECT(host[4] == 0 && host[5] == 0 && host[6] == 1 && host[31] == 26);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  return passed();
}
