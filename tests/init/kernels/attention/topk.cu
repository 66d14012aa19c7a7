#include <float.h>
// The k largest of each row by k passes of a block; index -1 marks what is taken.
__global__ void topk_kernel(const float* scores, float* values, int* indices, int n, int k) {
  __shared__ float best[128];
  __shared__ int where[128];
  const float* row = scores + blockIdx.x * n;
  for (int round = 0; round < k; ++round) {
    float top = -FLT_MAX;
    int at = n;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
      bool taken = false;
      for (int j = 0; j < round; ++j) taken |= indices[blockIdx.x * k + j] == i;
      if (!taken && (row[i] > top || at == n)) { top = row[i]; at = i; }
    }
    best[threadIdx.x] = top;
    where[threadIdx.x] = at;
    __syncthreads();
    if (threadIdx.x == 0) {
      for (int t = 1; t < blockDim.x; ++t)
        if (where[t] < n && (where[0] == n || best[t] > best[0] || (best[t] == best[0] && where[t] < where[0]))) { best[0] = best[t]; where[0] = where[t]; }
      values[blockIdx.x * k + round] = best[0];
      indices[blockIdx.x * k + round] = where[0] < n ? where[0] : -1;
    }
    __syncthreads();
  }
}
void topk(const float* scores, float* values, int* indices, int rows, int n, int k) {
  topk_kernel<<<rows, 128>>>(scores, values, indices, n, k);
}
