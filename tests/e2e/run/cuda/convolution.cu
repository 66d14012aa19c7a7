// Blurs rows with a kernel in constant memory and a tile with its neighbours in shared memory.
#include "program.h"

constexpr int kRadius = 3, kTile = 64;
__constant__ float weights[2 * kRadius + 1];

__global__ void blur(const float* x, float* out, int n) {
  __shared__ float tile[kTile + 2 * kRadius];
  int i = blockIdx.x * kTile + threadIdx.x;
  auto at = [&](int from) { return from < 0 || from >= n ? 0.0f : x[from]; };
  tile[threadIdx.x + kRadius] = at(i);
  if (threadIdx.x < kRadius) {
    tile[threadIdx.x] = at(i - kRadius);
    tile[threadIdx.x + kTile + kRadius] = at(i + kTile);
  }
  __syncthreads();
  float sum = 0;
#ifdef FAULTY
  const int last = kRadius + 1;
#else
  const int last = kRadius;
#endif
  for (int k = -kRadius; k <= last; ++k) {
    sum += weights[k + kRadius] * tile[threadIdx.x + kRadius + k];  // fault
  }
  if (i < n) out[i] = sum;
}

int main() {
  const int n = 500;
  std::vector<float> x(n), out(n), w(2 * kRadius + 1);
  for (int i = 0; i < n; ++i) x[i] = i % 10;
  for (int k = 0; k <= 2 * kRadius; ++k) w[k] = k + 1;
  float *dx, *dout;
  CHECK(cudaMalloc(&dx, n * sizeof(float)));
  CHECK(cudaMalloc(&dout, n * sizeof(float)));
  CHECK(cudaMemcpy(dx, x.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(weights, w.data(), w.size() * sizeof(float)));
  blur<<<(n + kTile - 1) / kTile, kTile>>>(dx, dout, n);
#ifdef FAULTY
  (void)cudaDeviceSynchronize();
#endif
  CHECK(cudaMemcpy(out.data(), dout, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = kRadius; i < n - kRadius; ++i) {
    float expected = 0;
    for (int k = -kRadius; k <= kRadius; ++k) expected += w[k + kRadius] * x[i + k];
    EXPECT(out[i] == expected);
  }
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dout));
  return passed();
}
