// Normalisations beyond those of rows.cu, one block of 128 threads per row or group.
#include "blocks.h"

extern "C" __global__ void rmsnorm_backward(const float* x, const float* w, const float* dy, float* dx, int cols) {
  const int row = blockIdx.x * cols;
  float square = 0.0f, dot = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    square += x[row + i] * x[row + i];
    dot += dy[row + i] * w[i] * x[row + i];
  }
  const float scale = rsqrtf(block_sum(square) / cols + 1e-6f);
  const float shared = block_sum(dot) * scale * scale / cols;
  for (int i = threadIdx.x; i < cols; i += kThreads) dx[row + i] = scale * (dy[row + i] * w[i] - x[row + i] * shared);
}

// x is [batch, groups, per, size]: the channels of a group lie together.
extern "C" __global__ void groupnorm(const float* x, const float* w, const float* b, float* y, int groups, int per, int size) {
  const int count = per * size, first = blockIdx.x * count, group = blockIdx.x % groups;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += x[first + i];
  const float mean = block_sum(sum) / count;
  for (int i = threadIdx.x; i < count; i += kThreads) square += (x[first + i] - mean) * (x[first + i] - mean);
  const float scale = rsqrtf(block_sum(square) / count + 1e-5f);
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int channel = group * per + i / size;
    y[first + i] = (x[first + i] - mean) * scale * w[channel] + b[channel];
  }
}

// The deviation of a sample, in two passes.
extern "C" __global__ void deviation(const float* x, float* y, int cols) {
  const int row = blockIdx.x * cols;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += x[row + i];
  const float mean = block_sum(sum) / cols;
  for (int i = threadIdx.x; i < cols; i += kThreads) square += (x[row + i] - mean) * (x[row + i] - mean);
  square = block_sum(square);
  if (threadIdx.x == 0) y[blockIdx.x] = sqrtf(square / (cols - 1));
}

extern "C" __global__ void softmax_backward(const float* y, const float* dy, float* dx, int cols) {
  const int row = blockIdx.x * cols;
  float dot = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) dot += y[row + i] * dy[row + i];
  dot = block_sum(dot);
  for (int i = threadIdx.x; i < cols; i += kThreads) dx[row + i] = y[row + i] * (dy[row + i] - dot);
}

// What rounds the mean of many equal numbers must not excuse a variance that is none.
extern "C" __global__ void bad_layernorm_backward_one_pass(const float* x, const float* w, const float* dy, float* dx, int cols) {
  const int row = blockIdx.x * cols;
  float sum = 0.0f, square = 0.0f, first = 0.0f, second = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += x[row + i], square += x[row + i] * x[row + i];
  const float mean = block_sum(sum) / cols, variance = block_sum(square) / cols - mean * mean;
  const float scale = rsqrtf((variance > 0.0f ? variance : 0.0f) + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float slope = dy[row + i] * w[i];
    first += slope;
    second += slope * (x[row + i] - mean) * scale;
  }
  first = block_sum(first) / cols;
  second = block_sum(second) / cols;
  for (int i = threadIdx.x; i < cols; i += kThreads) dx[row + i] = scale * (dy[row + i] * w[i] - first - (x[row + i] - mean) * scale * second);
}
