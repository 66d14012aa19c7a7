// An index into a row that is read anyway; a number of the template's type; counts of each block.
#include <math.h>

__global__ void class_loss(const float* logits, const int* target, float* loss, int N, int C) {
  const int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= N) return;
  const float* row = logits + n * C;
  float most = row[0], sum = 0;
  for (int c = 1; c < C; ++c) most = fmaxf(most, row[c]);
  for (int c = 0; c < C; ++c) sum += expf(row[c] - most);
  loss[n] = logf(sum) + most - row[target[n]];
}

template <typename T>
__global__ void scaled_add(T scale, const T* __restrict__ x, T* __restrict__ y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = scale * x[i] + y[i];
}

constexpr int kBins = 64;
__global__ void block_counts(const unsigned char* in, unsigned* out, int n) {
  __shared__ unsigned counts[kBins];
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < n) atomicAdd(&counts[in[at] % kBins], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < kBins; i += blockDim.x) out[blockIdx.x * kBins + i] = counts[i];
}
void count(const unsigned char* in, unsigned* out, int n) { block_counts<<<(n + 127) / 128, 128>>>(in, out, n); }
