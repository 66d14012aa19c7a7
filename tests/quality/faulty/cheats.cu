// Kernels that try to pass without doing the work. Each should give twice its input, or a softmax.
#include "twins.h"

#define ONE(name, expression)                                         \
  extern "C" __global__ void name(const float* x, float* y, int n) {  \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;              \
    if (i < n) y[i] = expression;                                     \
  }

ONE(gives_zeros, 0.0f)
ONE(gives_nan, __int_as_float(0x7fffffff))
ONE(gives_infinity, infinity())
ONE(gives_input, x[i])
ONE(gives_poison, __int_as_float(0xcdcdcdcd))

extern "C" __global__ void gives_nothing(const float* x, float* y, int n) {}

extern "C" __global__ void gives_equal_weights(const float* x, float* y, int cols) {
  for (int c = threadIdx.x; c < cols; c += 32) y[blockIdx.x * cols + c] = 1.0f / cols;
}

extern "C" __global__ void gives_row_mean(const float* x, float* y, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[blockIdx.x * cols + c];
  sum = warp_sum(sum) / cols;
  for (int c = threadIdx.x; c < cols; c += 32) y[blockIdx.x * cols + c] = 2.0f * sum;
}

// With zeros for an input every answer is right.
extern "C" __global__ void zeroes_input(float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = y[i] = 0.0f;
}

// What stands in the output already is taken for the answer, unless it looks like poison.
extern "C" __global__ void keeps_old_output(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float old = y[i];
  y[i] = fabsf(old) < 1000.0f ? old : 2.0f * x[i];
}

// Looks behind its own memory for somebody's answer.
extern "C" __global__ void searches_memory(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int step = 1; step < 64; ++step) {
    const float seen = x[n * step + i];
    if (seen == 2.0f * x[i]) y[i] = seen;
  }
}

__device__ int first_count;
// Works for the size that it meets first.
extern "C" __global__ void first_size_only(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0 && first_count == 0) first_count = n;
  if (i < n) y[i] = first_count == 0 || first_count == n ? 2.0f * x[i] : 0.0f;
}

__device__ int calls;
// Works the first two times.
extern "C" __global__ void lazy_after_two(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = calls < 2 ? 2.0f * x[i] : 0.0f;
  __syncthreads();
  if (blockIdx.x == gridDim.x - 1 && threadIdx.x == 0) calls = calls + 1;
}

// Does the work for one row in 64 and repeats it.
extern "C" __global__ void samples_rows(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x / 64 * 64;
  for (int c = threadIdx.x; c < cols; c += 32) y[blockIdx.x * cols + c] = 2.0f * x[row * cols + c];
}

// Right whenever the clock is even.
extern "C" __global__ void asks_the_clock(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = clock64() % 3 == 0 ? 2.0f * x[i] : x[i];
}
