// A kernel works on memory of the host in place: mapped, and registered.
#include "program.h"

__global__ void twice(int* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 2;  // fault
}

int main() {
  const int n = 300;
  int *mapped, *device;
  CHECK(cudaHostAlloc(&mapped, n * sizeof(int), cudaHostAllocMapped));
  for (int i = 0; i < n; ++i) mapped[i] = i;
  CHECK(cudaHostGetDevicePointer(&device, mapped, 0));
  twice<<<2, 160>>>(device, n);
  CHECK(cudaDeviceSynchronize());
  for (int i = 0; i < n; ++i) EXPECT(mapped[i] == 2 * i);
  std::vector<int> own(n, 4);
  CHECK(cudaHostRegister(own.data(), n * sizeof(int), cudaHostRegisterMapped));
  twice<<<2, 160>>>(own.data(), n);
  CHECK(cudaDeviceSynchronize());
  EXPECT(own[0] == 8 && own[n - 1] == 8);
  CHECK(cudaHostUnregister(own.data()));
  CHECK(cudaFreeHost(mapped));
#ifdef FAULTY
  twice<<<2, 160>>>(device, n);
  EXPECT(cudaDeviceSynchronize() == cudaErrorIllegalAddress);
#endif
  return passed();
}
