// Softmax, norms, attention and losses. All of them are right.
#include "warp.h"

extern "C" __global__ void softmax(const float* x, float* y, int cols) {
  __shared__ float shared[32], top;
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float most = -infinity();
  for (int c = threadIdx.x; c < cols; c += blockDim.x) most = larger(most, x[c]);
  most = warp_max(most);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = most;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < blockDim.x / 32; ++w) most = larger(most, shared[w]);
    top = most;
  }
  __syncthreads();
  most = top;
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += expf(x[c] - most);
  sum = block_sum(sum, shared);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = expf(x[c] - most) / sum;
}

/// A sum of exponentials against the maximum `from`, now against `to`; that of nothing but -infinity is 0.
__device__ inline float rescaled(float sum, float from, float to) { return from == -infinity() ? 0.0f : sum * expf(from - to); }

// Each lane keeps a running maximum and sum; pairs of lanes merge theirs.
extern "C" __global__ void softmax_online(const float* x, float* y, int cols) {
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float most = -infinity(), sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float now = larger(most, x[c]);
    sum = rescaled(sum, most, now) + rescaled(1.0f, x[c], now);
    most = now;
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(kAll, most, step), other_sum = __shfl_xor_sync(kAll, sum, step);
    const float now = larger(most, other);
    sum = rescaled(sum, most, now) + rescaled(other_sum, other, now);
    most = now;
  }
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = expf(x[c] - most) / sum;
}

extern "C" __global__ void log_softmax(const float* x, float* y, int cols) {
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float most = -infinity(), sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) most = larger(most, x[c]);
  most = warp_max(most);
  for (int c = threadIdx.x; c < cols; c += 32) sum += expf(x[c] - most);
  const float log_sum = logf(warp_sum(sum));
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = x[c] - most - log_sum;
}

// Masked elements get 0; a row without any other is all 0.
extern "C" __global__ void softmax_masked(const float* x, const int* keep, float* y, int cols) {
  x += blockIdx.x * cols, keep += blockIdx.x * cols, y += blockIdx.x * cols;
  float most = -infinity(), sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32)
    if (keep[c]) most = larger(most, x[c]);
  most = warp_max(most);
  for (int c = threadIdx.x; c < cols; c += 32)
    if (keep[c]) sum += expf(x[c] - most);
  sum = warp_sum(sum);
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = keep[c] ? expf(x[c] - most) / sum : 0.0f;
}

extern "C" __global__ void softmax_backward(const float* p, const float* g, float* y, int cols) {
  p += blockIdx.x * cols, g += blockIdx.x * cols, y += blockIdx.x * cols;
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) sum += p[c] * g[c];
  sum = warp_sum(sum);
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = p[c] * (g[c] - sum);
}

extern "C" __global__ void layer_norm(const float* x, const float* weight, const float* bias, float* y, int cols, float eps) {
  __shared__ float shared[32];
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) sum += x[c];
  const float mean = block_sum(sum, shared) / cols;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) squares += (x[c] - mean) * (x[c] - mean);
  const float scale = rsqrtf(block_sum(squares, shared) / cols + eps);
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[c] = (x[c] - mean) * scale * weight[c] + bias[c];
}

extern "C" __global__ void rms_norm(const float* x, const float* weight, float* y, int cols, float eps) {
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float squares = 0;
  for (int c = threadIdx.x; c < cols; c += 32) squares += x[c] * x[c];
  const float scale = 1.0f / sqrtf(warp_sum(squares) / cols + eps);
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = x[c] * scale * weight[c];
}

extern "C" __global__ void unit_length(const float* x, float* y, int cols) {
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float squares = 0;
  for (int c = threadIdx.x; c < cols; c += 32) squares += x[c] * x[c];
  const float length = sqrtf(warp_sum(squares) + 1e-12f);
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = x[c] / length;
}

// Minus the logarithm of the probability of each row's class.
extern "C" __global__ void cross_entropy(const float* x, const int* label, float* y, int cols) {
  x += blockIdx.x * cols;
  float most = -infinity(), sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) most = larger(most, x[c]);
  most = warp_max(most);
  for (int c = threadIdx.x; c < cols; c += 32) sum += expf(x[c] - most);
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = most - x[label[blockIdx.x]] + logf(sum);
}

// One warp for each query; keys in tiles of 32; the sum and the output are rescaled as the maximum grows.
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* y, int keys, int depth, int causal) {
  __shared__ float weights[32];
  const int query = blockIdx.x, t = threadIdx.x, last = causal ? min(keys, query + 1) : keys;
  const float scale = rsqrtf(static_cast<float>(depth));
  float most = -infinity(), sum = 0, mixed = 0;
  for (int at = 0; at < last; at += 32) {
    float score = -infinity();
    if (at + t < last) {
      score = 0;
      for (int d = 0; d < depth; ++d) score += q[query * depth + d] * k[(at + t) * depth + d];
      score *= scale;
    }
    const float now = larger(most, warp_max(score)), rescale = at == 0 ? 0.0f : expf(most - now);
    const float weight = at + t < last ? expf(score - now) : 0.0f;
    __syncwarp();
    weights[t] = weight;
    __syncwarp();
    sum = (at == 0 ? 0.0f : sum * rescale) + warp_sum(weight);
    mixed = at == 0 ? 0.0f : mixed * rescale;
    if (t < depth)
      for (int j = 0; j < min(32, last - at); ++j) mixed += weights[j] * v[(at + j) * depth + t];
    most = now;
  }
  if (t < depth) y[query * depth + t] = mixed / sum;
}

// Channels in groups of four.
extern "C" __global__ void group_norm(const float* x, float* y, int channels, int pixels, float eps) {
  const int size = 4 * pixels;
  const long long at = static_cast<long long>(blockIdx.y * channels + blockIdx.x * 4) * pixels;
  float sum = 0, squares = 0;
  for (int i = threadIdx.x; i < size; i += 32) sum += x[at + i];
  const float mean = warp_sum(sum) / size;
  for (int i = threadIdx.x; i < size; i += 32) squares += (x[at + i] - mean) * (x[at + i] - mean);
  const float scale = 1.0f / sqrtf(warp_sum(squares) / size + eps);
  for (int i = threadIdx.x; i < size; i += 32) y[at + i] = (x[at + i] - mean) * scale;
}
