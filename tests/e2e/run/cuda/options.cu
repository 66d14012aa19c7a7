// Prices options by a formula, in a loop over the grid, with options in structures of arrays.
#include "program.h"

__device__ float below(float x) { return 0.5f * erfcf(-x * 0.70710678f); }

__global__ void price(float* call, float* put, const float* stock, const float* strike,
                      const float* years, int n) {
  const float rate = 0.02f, volatility = 0.3f;
#ifdef FAULTY
  n += 8;
#endif
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    float root = sqrtf(years[i]);  // fault
    float d1 = (logf(stock[i] / strike[i]) + (rate + volatility * volatility / 2) * years[i]) /
               (volatility * root);
    float d2 = d1 - volatility * root, discount = expf(-rate * years[i]);
    call[i] = stock[i] * below(d1) - strike[i] * discount * below(d2);
    put[i] = strike[i] * discount * below(-d2) - stock[i] * below(-d1);
  }
}

int main() {
  const int n = 1000;
  std::vector<float> host[3], call(n), put(n);
  float* device[5];
  for (auto& one : host) one.resize(n);
  for (int i = 0; i < n; ++i) {
    host[0][i] = 5 + i % 25;
    host[1][i] = 10 + i % 15;
    host[2][i] = 0.25f + i % 10;
  }
  for (auto& one : device) CHECK(cudaMalloc(&one, n * sizeof(float)));
  for (int k = 0; k < 3; ++k) {
    CHECK(cudaMemcpy(device[k + 2], host[k].data(), n * sizeof(float), cudaMemcpyHostToDevice));
  }
  price<<<3, 96>>>(device[0], device[1], device[2], device[3], device[4], n);
#ifdef FAULTY
  (void)cudaDeviceSynchronize();
#endif
  CHECK(cudaMemcpy(call.data(), device[0], n * sizeof(float), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(put.data(), device[1], n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) {  // Put-call parity.
    float parity = host[0][i] - host[1][i] * std::exp(-0.02f * host[2][i]);
    EXPECT(std::fabs(call[i] - put[i] - parity) < 1e-3f);
  }
  for (auto* one : device) CHECK(cudaFree(one));
  return passed();
}
