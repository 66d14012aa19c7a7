// Sums of integers by bin; bins that there are not are left out. A choice by a mask.
__global__ void add_by_bin(const int* bin, const int* weight, int* sums, int n, int bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || bin[i] < 0 || bin[i] >= bins) return;
  atomicAdd(&sums[bin[i]], weight[i]);
}
__global__ void choose(const bool* mask, const float* a, const float* b, float* out, size_t n) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = mask[i] ? a[i] : b[i];
}
