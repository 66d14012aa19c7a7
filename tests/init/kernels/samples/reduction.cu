#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <class T, unsigned int blockSize, bool nIsPow2>
__global__ void reduce6(const T* g_idata, T* g_odata, unsigned int n) {
  __shared__ T sdata[blockSize];
  cg::thread_block block = cg::this_thread_block();
  unsigned int tid = threadIdx.x;
  unsigned int i = blockIdx.x * blockSize * 2 + tid;
  T mine = 0;
  while (i < n) {
    mine += g_idata[i];
    if (nIsPow2 || i + blockSize < n) mine += g_idata[i + blockSize];
    i += blockSize * 2 * gridDim.x;
  }
  sdata[tid] = mine;
  cg::sync(block);
  for (unsigned int s = blockSize / 2; s > 0; s >>= 1) {
    if (tid < s) sdata[tid] += sdata[tid + s];
    cg::sync(block);
  }
  if (tid == 0) g_odata[blockIdx.x] = sdata[0];
}
void reduce(const int* in, int* out, unsigned int n) {
  const int threads = 128;
  int blocks = (n + threads * 2 - 1) / (threads * 2);
  reduce6<int, 128, false><<<blocks, threads>>>(in, out, n);
}
void reduce(const float* in, float* out, unsigned int n) {
  const int threads = 128;
  int blocks = (n + threads * 2 - 1) / (threads * 2);
  reduce6<float, 128, false><<<blocks, threads>>>(in, out, n);
}
