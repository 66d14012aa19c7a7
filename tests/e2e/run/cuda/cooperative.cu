// Synchronises the whole grid of a cooperative launch.
#include <cooperative_groups.h>

#include "program.h"

__global__ void rotate(const int* x, int* sums, int* result) {
  cooperative_groups::grid_group grid = cooperative_groups::this_grid();
  atomicAdd(&sums[blockIdx.x], x[blockIdx.x * blockDim.x + threadIdx.x]);  // fault
  grid.sync();
  if (threadIdx.x == 0) result[blockIdx.x] = sums[(blockIdx.x + 1) % gridDim.x];
}

int main() {
  int able = 0;
  CHECK(cudaDeviceGetAttribute(&able, cudaDevAttrCooperativeLaunch, 0));
  EXPECT(able == 1);
  int host[128], result[4], *x, *sums, *out;
  for (int i = 0; i < 128; ++i) host[i] = i / 32;
  CHECK(cudaMalloc(&x, sizeof host));
  CHECK(cudaMalloc(&sums, 16));
  CHECK(cudaMalloc(&out, 16));
  CHECK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(sums, 0, 16));
  void* arguments[] = {&x, &sums, &out};
#ifdef FAULTY
  CHECK(cudaFree(x));  // freed
#endif
  CHECK(cudaLaunchCooperativeKernel(rotate, 4, 32, arguments, 0, 0));  // launch
  CHECK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
  for (int i = 0; i < 4; ++i) EXPECT(result[i] == (i + 1) % 4 * 32);
  EXPECT(cudaLaunchCooperativeKernel(rotate, 100000, 1024, arguments, 0, 0) ==
         cudaErrorCooperativeLaunchTooLarge);
  CHECK(cudaFree(x));
  CHECK(cudaFree(sums));
  CHECK(cudaFree(out));
  return passed();
}
