// Halves by pairs, read as vectors of 16 bytes.
#include <cuda_fp16.h>

#include "program.h"

__global__ void scale(const __half* x, __half* y, float by) {
  int at = threadIdx.x * 8;
  union Eight {
    uint4 words;
    __half2 pairs[4];
  } eight;
  eight.words = *reinterpret_cast<const uint4*>(x + at);  // fault
  for (__half2& pair : eight.pairs) pair = __hmul2(pair, __float2half2_rn(by));
  *reinterpret_cast<uint4*>(y + at) = eight.words;
}

int main() {
  const int n = 256;
  std::vector<__half> x(n + 8), y(n);
  for (int i = 0; i < n + 8; ++i) x[i] = __float2half(i);
  __half *dx, *dy;
  CHECK(cudaMalloc(&dx, (n + 8) * sizeof(__half)));
  CHECK(cudaMalloc(&dy, n * sizeof(__half)));
  CHECK(cudaMemcpy(dx, x.data(), (n + 8) * sizeof(__half), cudaMemcpyHostToDevice));
#ifdef FAULTY
  scale<<<1, n / 8>>>(dx + 1, dy, 0.5f);
  EXPECT(cudaDeviceSynchronize() == cudaErrorMisalignedAddress);
#else
  scale<<<1, n / 8>>>(dx, dy, 0.5f);
  CHECK(cudaMemcpy(y.data(), dy, n * sizeof(__half), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) EXPECT(__half2float(y[i]) == 0.5f * i);
#endif
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dy));
  return passed();
}
