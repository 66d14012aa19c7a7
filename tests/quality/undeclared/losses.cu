// Losses and what counts and selects.
#include "blocks.h"

// Of logits and labels 0 and 1, with gamma 2 and alpha 0.25.
extern "C" __global__ void focal_loss(const float* x, const int* label, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const bool set = label[i] % 2 == 1;
  const float z = set ? -x[i] : x[i], miss = 1.0f / (1.0f + expf(-z));
  const float entropy = larger(z, 0.0f) + log1pf(expf(-fabsf(z)));
  y[i] = (set ? 0.25f : 0.75f) * miss * miss * entropy;
}

// Of logarithms and probabilities, a sum per row.
extern "C" __global__ void kl_divergence(const float* x, const float* target, float* y, int cols) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float t = target[blockIdx.x * cols + i];
    sum += t > 0.0f ? t * (logf(t) - x[blockIdx.x * cols + i]) : 0.0f;
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void gelu_tanh_backward(const float* x, const float* dy, float* dx, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i], inner = 0.7978845608f * (v + 0.044715f * v * v * v), t = tanhf(inner);
  const float slope = 0.7978845608f * (1.0f + 3.0f * 0.044715f * v * v);
  dx[i] = dy[i] * (0.5f * (1.0f + t) + 0.5f * v * (1.0f - t * t) * slope);
}

extern "C" __global__ void histogram(const int* x, int* counts, int n, int bins) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&counts[x[i] % bins], 1);
}
extern "C" __global__ void clear(int* counts, int bins) {
  for (int i = threadIdx.x; i < bins; i += blockDim.x) counts[i] = 0;
}

// The four largest of a row, in order.
extern "C" __global__ void top_four(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float best[4] = {-infinity(), -infinity(), -infinity(), -infinity()};
  for (int i = 0; i < cols; ++i) {
    float v = x[row * cols + i];
    for (int k = 0; k < 4; ++k)
      if (v > best[k]) {
        const float last = best[k];
        best[k] = v;
        v = last;
      }
  }
  for (int k = 0; k < 4; ++k) y[row * 4 + k] = best[k];
}
