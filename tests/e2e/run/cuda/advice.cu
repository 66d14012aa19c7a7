// Managed memory with prefetches, and advice that the program asks for again.
#include "program.h"

__global__ void square(float* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULTY
  if (i > n) return;
#else
  if (i >= n) return;
#endif
  x[i] *= x[i];  // fault
}

int main() {
  const int n = 1000;
  const size_t bytes = n * sizeof(float);
  float* x;
  CHECK(cudaMallocManaged(&x, bytes));
  for (int i = 0; i < n; ++i) x[i] = i;
  const cudaMemLocation device{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
  int answer = -1;
  CHECK(
      cudaMemRangeGetAttribute(&answer, sizeof answer, cudaMemRangeAttributeReadMostly, x, bytes));
  EXPECT(answer == 0);
  CHECK(cudaMemAdvise(x, bytes, cudaMemAdviseSetReadMostly, device));
  CHECK(cudaMemAdvise(x, bytes / 2, cudaMemAdviseSetPreferredLocation, device));
  CHECK(cudaMemAdvise(x, bytes, cudaMemAdviseSetAccessedBy, host));
  CHECK(
      cudaMemRangeGetAttribute(&answer, sizeof answer, cudaMemRangeAttributeReadMostly, x, bytes));
  EXPECT(answer == 1);
  CHECK(cudaMemRangeGetAttribute(&answer, sizeof answer, cudaMemRangeAttributePreferredLocation, x,
                                 bytes / 2));
  EXPECT(answer == 0);
  CHECK(cudaMemRangeGetAttribute(&answer, sizeof answer, cudaMemRangeAttributePreferredLocation, x,
                                 bytes));
  EXPECT(answer == cudaInvalidDeviceId);
  int by[2] = {};
  CHECK(cudaMemRangeGetAttribute(by, sizeof by, cudaMemRangeAttributeAccessedBy, x, bytes));
  EXPECT(by[0] == cudaCpuDeviceId && by[1] == cudaInvalidDeviceId);
  CHECK(cudaMemAdvise(x, bytes, cudaMemAdviseUnsetReadMostly, device));
  CHECK(
      cudaMemRangeGetAttribute(&answer, sizeof answer, cudaMemRangeAttributeReadMostly, x, bytes));
  EXPECT(answer == 0);

  CHECK(cudaMemPrefetchAsync(x, bytes, device, 0));
  square<<<8, 128>>>(x, n);
  CHECK(cudaMemPrefetchAsync(x, bytes, host, 0));
#ifdef FAULTY
  (void)cudaDeviceSynchronize();
#endif
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemRangeGetAttribute(&answer, sizeof answer, cudaMemRangeAttributeLastPrefetchLocation,
                                 x, bytes));
  EXPECT(answer == cudaCpuDeviceId && x[30] == 900);
  EXPECT(cudaMemPrefetchAsync(&answer, sizeof answer, device, 0) == cudaErrorInvalidValue);
  (void)cudaGetLastError();
  CHECK(cudaFree(x));
  return passed();
}
