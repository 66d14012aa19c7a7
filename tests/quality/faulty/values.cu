// Faults that few values show. Correct with -DFIXED. Most ops declare shapes and a reference, nothing else.
#include "twins.h"

constexpr int kWide = 256;

/// The larger or the sum of what the threads of a block of 256 have.
template <bool kSum>
__device__ float of_block(float v) {
  __shared__ float parts[kWide / 32];
  v = kSum ? warp_sum(v) : warp_max(v);
  __syncthreads();
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = parts[0];
  for (int w = 1; w < kWide / 32; ++w) v = kSum ? v + parts[w] : larger(v, parts[w]);
  return v;
}

extern "C" __global__ void first_tile_max(const float* x, float* y, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols, y += static_cast<long long>(blockIdx.x) * cols;
  const int limit = WRONG(min(cols, kWide), cols);
  float most = -infinity(), sum = 0;
  for (int c = threadIdx.x; c < limit; c += kWide) most = larger(most, x[c]);
  most = of_block<false>(most);
  for (int c = threadIdx.x; c < cols; c += kWide) sum += expf(x[c] - most);
  sum = of_block<true>(sum);
  for (int c = threadIdx.x; c < cols; c += kWide) y[c] = expf(x[c] - most) / sum;
}

// One thread for each row; the sum so far belongs to an older maximum.
extern "C" __global__ void online_not_scaled(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += static_cast<long long>(row) * cols, y += static_cast<long long>(row) * cols;
  float most = -infinity(), sum = 0;
  for (int c = 0; c < cols; ++c) {
    const float now = larger(most, x[c]);
    const float base = now == -infinity() ? 0.0f : now;  // As long as there was nothing but -infinity.
    sum = WRONG(sum, sum * expf(most - base)) + expf(x[c] - base);
    most = now;
  }
  for (int c = 0; c < cols; ++c) y[c] = expf(x[c] - most) / sum;
}

// Halves go to the even number.
extern "C" __global__ void quantize_half_up(const float* x, signed char* y, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols, y += static_cast<long long>(blockIdx.x) * cols;
  float most = 0;
  for (int c = threadIdx.x; c < cols; c += 32) most = larger(most, fabsf(x[c]));
  const float scale = warp_max(most) / 127.0f;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float v = scale > 0.0f ? x[c] / scale : 0.0f;
    y[c] = static_cast<signed char>(WRONG(floorf(v + 0.5f), rintf(v)));
  }
}

extern "C" __global__ void quantize_half_away(const float* x, signed char* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i] * 8.0f;
  y[i] = static_cast<signed char>(fminf(fmaxf(WRONG(roundf(v), rintf(v)), -128.0f), 127.0f));
}

// The largest of each row, two columns at a time.
extern "C" __global__ void upper_loses_nan(const float2* x, float* y, int pairs) {
  x += static_cast<long long>(blockIdx.x) * pairs;
  float low = -infinity(), high = -infinity();
  for (int c = threadIdx.x; c < pairs; c += 32) {
    low = larger(low, x[c].x);
    high = WRONG(fmaxf(high, x[c].y), larger(high, x[c].y));
  }
  const float most = warp_max(larger(low, high));
  if (threadIdx.x == 0) y[blockIdx.x] = most;
}

extern "C" __global__ void causal_by_product(const float* x, float* y, int n) {
  const int row = blockIdx.x;
  x += static_cast<long long>(row) * n;
  float sum = 0;
  for (int c = threadIdx.x; c < n; c += 32) sum += WRONG(x[c] * (c <= row ? 1.0f : 0.0f), c <= row ? x[c] : 0.0f);
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[row] = sum;
}

/// The mean of the squares of a row, which one warp has.
__device__ inline float mean_square(const float* x, int cols) {
  float squares = 0;
  for (int c = threadIdx.x; c < cols; c += 32) squares += x[c] * x[c];
  return warp_sum(squares) / cols;
}

extern "C" __global__ void eps_too_small(const float* x, float* y, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols, y += static_cast<long long>(blockIdx.x) * cols;
  const float root = sqrtf(mean_square(x, cols) + WRONG(1e-6f, 1e-5f));
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = x[c] / root;
}

extern "C" __global__ void eps_behind_root(const float* x, float* y, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols, y += static_cast<long long>(blockIdx.x) * cols;
  const float mean = mean_square(x, cols);
  const float root = WRONG(sqrtf(mean) + 1e-5f, sqrtf(mean + 1e-5f));
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = x[c] / root;
}

extern "C" __global__ void padded_max(const float* x, float* y, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols;
  float most = WRONG(0.0f, -infinity());
  for (int c = threadIdx.x; c < (cols + 31) / 32 * 32; c += 32) most = larger(most, c < cols ? x[c] : WRONG(0.0f, -infinity()));
  most = warp_max(most);
  if (threadIdx.x == 0) y[blockIdx.x] = most;
}

extern "C" __global__ void shrink_at_half(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = WRONG(x[i] >= 0.5f, x[i] > 0.5f) || x[i] <= -0.5f || x[i] != x[i] ? x[i] : 0.0f;
}

extern "C" __global__ void counted_from_1000(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = WRONG(x[i] > 1000, x[i] >= 1000) ? 2 : x[i] < 0 ? 1 : 0;
}

// An integer beside floats.
extern "C" __global__ void weight_from_500(const float* x, const int* label, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = WRONG(label[i] > 500, label[i] >= 500) ? 2.0f * x[i] : x[i];
}

// A block for each row.
extern "C" __global__ void rows_in_16_bits(const float* x, float* y) {
  const unsigned row = WRONG(blockIdx.x & 0xffffu, blockIdx.x);
  if (threadIdx.x == 0) y[row] = 2.0f * x[row];
}

extern "C" __global__ void clear_arrived(unsigned* arrived) { *arrived = 0; }
// As in the threadFenceReduction sample, without its fence.
extern "C" __global__ void last_block_sums(const float* x, float* part, unsigned* arrived, float* y, int n) {
  __shared__ bool is_last;
  float sum = 0;
  for (int i = blockIdx.x * kWide + threadIdx.x; i < n; i += gridDim.x * kWide) sum += x[i];
  sum = of_block<true>(sum);
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sum;  // FAULT last_block_sums
    WRONG((void)0, __threadfence());
    is_last = atomicInc(arrived, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  WRONG((void)0, __threadfence());
  float total = 0;
  for (int b = threadIdx.x; b < gridDim.x; b += kWide) total += part[b];  // FAULT last_block_sums
  total = of_block<true>(total);
  if (threadIdx.x == 0) y[0] = total;
}
