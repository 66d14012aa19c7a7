// Prefix sums by shuffles within warps and a scan of the warps' sums.
#include "program.h"

__global__ void scan(const int* x, int* y, int n) {
  __shared__ int sums[32];
  int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int value = threadIdx.x < n ? x[threadIdx.x] : 0;
  for (int by = 1; by < 32; by *= 2) {
    int other = __shfl_up_sync(~0u, value, by);
    if (lane >= by) value += other;
  }
  if (lane == 31) sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
#ifdef FAULTY
    int sum = sums[lane];  // fault
#else
    int sum = lane < blockDim.x / 32 ? sums[lane] : 0;
#endif
    for (int by = 1; by < 32; by *= 2) {
      int other = __shfl_up_sync(~0u, sum, by);
      if (lane >= by) sum += other;
    }
    sums[lane] = sum;
  }
  __syncthreads();
  if (warp > 0) value += sums[warp - 1];
  if (threadIdx.x < n) y[threadIdx.x] = value;
#ifdef FAULTY
  if (threadIdx.x == 0) y[n] = sums[31];
#endif
}

int main() {
  const int n = 200;
  int x[n + 1] = {}, y[n + 1], *dx, *dy;
  for (int i = 0; i < n; ++i) x[i] = i % 9;
  CHECK(cudaMalloc(&dx, sizeof x));
  CHECK(cudaMalloc(&dy, sizeof y));
  CHECK(cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice));
  scan<<<1, 256>>>(dx, dy, n);
  CHECK(cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost));
  for (int i = 0, sum = 0; i < n; ++i) EXPECT(y[i] == (sum += x[i]));
  CHECK(cudaFree(dx));
  CHECK(cudaFree(dy));
  return passed();
}
