// Faults of reductions: accumulators, softmax, attention, variances, several outputs. Correct with -DFIXED. One warp for each row.
#include "twins.h"

extern "C" __global__ void overwritten(const float* a, const float* b, float* y, int k) {
  float sum = 0;
  for (int at = 0; at < k; at += 32) {
    const int c = at + threadIdx.x;
    const float tile = warp_sum(c < k ? a[blockIdx.x * k + c] * b[blockIdx.x * k + c] : 0.0f);
    sum = WRONG(tile, sum + tile);
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

/// Softmax of one row in the way that `kMaxOf` says: no maximum, that of the first 32 columns, that of all.
enum class MaxOf { Nothing, First, All };
template <MaxOf kMaxOf>
__device__ void softmax_row(const float* x, float* y, int cols) {
  const int t = threadIdx.x;
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float most = kMaxOf == MaxOf::Nothing ? 0.0f : -infinity();
  if (kMaxOf == MaxOf::First && t < cols) most = x[t];
  for (int c = t; kMaxOf == MaxOf::All && c < cols; c += 32) most = larger(most, x[c]);
  most = warp_max(most);
  float sum = 0;
  for (int c = t; c < cols; c += 32) sum += expf(x[c] - most);
  sum = warp_sum(sum);
  for (int c = t; c < cols; c += 32) y[c] = expf(x[c] - most) / sum;
}
extern "C" __global__ void softmax_no_max(const float* x, float* y, int cols) {
  softmax_row<WRONG(MaxOf::Nothing, MaxOf::All)>(x, y, cols);
}
extern "C" __global__ void softmax_first_max(const float* x, float* y, int cols) {
  softmax_row<WRONG(MaxOf::First, MaxOf::All)>(x, y, cols);
}

extern "C" __global__ void online_rescale(const float* x, float* y, int cols) {
  const int t = threadIdx.x;
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float most = -infinity(), sum = 0;
  for (int at = 0; at < cols; at += 32) {
    const float v = at + t < cols ? x[at + t] : -infinity();
    const float now = larger(most, warp_max(v));
    const float base = now == -infinity() ? 0.0f : now;  // As long as there was nothing but -infinity.
    const float part = warp_sum(at + t < cols ? expf(v - base) : 0.0f);
    sum = (at == 0 ? 0.0f : WRONG(sum, sum * expf(most - base))) + part;
    most = now;
  }
  for (int c = t; c < cols; c += 32) y[c] = expf(x[c] - most) / sum;
}

extern "C" __global__ void padded_columns(const float* x, float* y, int cols) {
  const int t = threadIdx.x;
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float most = -infinity();
  for (int c = t; c < cols; c += 32) most = larger(most, x[c]);
  most = warp_max(most);
  float sum = 0;
  for (int c = t; c < (cols + 31) / 32 * 32; c += 32) sum += c < cols ? expf(x[c] - most) : WRONG(expf(0.0f - most), 0.0f);
  sum = warp_sum(sum);
  for (int c = t; c < cols; c += 32) y[c] = expf(x[c] - most) / sum;
}

// Numerator and denominator round x log2(e) differently.
extern "C" __global__ void two_exponentials(const float* x, float* y, int cols) {
  const float log2e = 1.4426950408889634f;
  const int t = threadIdx.x;
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float most = -infinity();
  for (int c = t; c < cols; c += 32) most = larger(most, x[c]);
  most = warp_max(most);
  const float scaled = most * log2e;
  float sum = 0;
  for (int c = t; c < cols; c += 32) sum += exp2f((x[c] - most) * log2e);
  sum = warp_sum(sum);
  for (int c = t; c < cols; c += 32) y[c] = exp2f(WRONG(x[c] * log2e - scaled, (x[c] - most) * log2e)) / sum;
}

/// One query of attention over `keys` keys of `depth` numbers; one thread for each output column.
template <bool kScaled, int kPast>
__device__ void attend(const float* q, const float* k, const float* v, float* y, int keys, int depth, bool causal) {
  const int query = blockIdx.x;
  const int last = causal ? min(keys, query + 1 + kPast) : keys;
  const float scale = kScaled ? rsqrtf(static_cast<float>(depth)) : 1.0f;
  float most = -infinity();
  for (int j = 0; j < last; ++j) {
    float score = 0;
    for (int d = 0; d < depth; ++d) score += q[query * depth + d] * k[j * depth + d];
    most = larger(most, score * scale);
  }
  float sum = 0, mixed = 0;
  for (int j = 0; j < last; ++j) {
    float score = 0;
    for (int d = 0; d < depth; ++d) score += q[query * depth + d] * k[j * depth + d];
    const float weight = expf(score * scale - most);
    sum += weight;
    if (threadIdx.x < depth) mixed += weight * v[j * depth + threadIdx.x];
  }
  if (threadIdx.x < depth) y[query * depth + threadIdx.x] = mixed / sum;
}
extern "C" __global__ void attention_scale(const float* q, const float* k, const float* v, float* y, int keys, int depth) {
  attend<WRONG(false, true), 0>(q, k, v, y, keys, depth, false);
}
extern "C" __global__ void causal_limit(const float* q, const float* k, const float* v, float* y, int keys, int depth) {
  attend<true, WRONG(1, 0)>(q, k, v, y, keys, depth, true);
}

/// Mean and variance of a row; a NaN or an infinity spreads.
__device__ inline void moments(const float* x, int cols, float divisor, float& mean, float& variance) {
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[c];
  mean = warp_sum(sum) / cols;
  for (int c = threadIdx.x; c < cols; c += 32) squares += (x[c] - mean) * (x[c] - mean);
  variance = warp_sum(squares) / divisor;
}

extern "C" __global__ void variance_divisor(const float* x, float* y, int cols) {
  float mean, variance;
  moments(x + blockIdx.x * cols, cols, WRONG(max(cols - 1, 1), cols), mean, variance);
  if (threadIdx.x == 0) y[blockIdx.x] = variance;
}

extern "C" __global__ void one_pass_variance(const float* x, float* y, int cols) {
  float mean, variance;
  moments(x + blockIdx.x * cols, cols, cols, mean, variance);
#ifndef FIXED
  float squares = 0;
  for (int c = threadIdx.x; c < cols; c += 32) squares += x[blockIdx.x * cols + c] * x[blockIdx.x * cols + c];
  variance = fmaxf(warp_sum(squares) / cols - mean * mean, 0.0f);
#endif
  if (threadIdx.x == 0) y[blockIdx.x] = variance;
}

extern "C" __global__ void eps_outside(const float* x, float* y, int cols, float eps) {
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float squares = 0;
  for (int c = threadIdx.x; c < cols; c += 32) squares += x[c] * x[c];
  const float mean = warp_sum(squares) / cols;
  const float root = WRONG(sqrtf(mean) + eps, sqrtf(mean + eps));
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = x[c] / root;
}

// Layer norm that also gives the mean and 1 / sigma of each row.
extern "C" __global__ void second_output(const float* x, float* y, float* means, float* scales, int cols, float eps) {
  float mean, variance;
  moments(x + blockIdx.x * cols, cols, cols, mean, variance);
  const float scale = 1.0f / sqrtf(variance + eps);
  for (int c = threadIdx.x; c < cols; c += 32) y[blockIdx.x * cols + c] = (x[blockIdx.x * cols + c] - mean) * scale;
  if (threadIdx.x == 0) means[blockIdx.x] = mean, scales[blockIdx.x] = WRONG(1.0f / (variance + eps), scale);
}

// The first of equal ones counts, and a NaN for more than any number.
extern "C" __global__ void argmax_tie(const float* x, int* y, int cols) {
  if (threadIdx.x != 0) return;
  x += blockIdx.x * cols;
  int best = 0;
  for (int c = 1; c < cols; ++c)
    if (WRONG(x[c] >= x[best], x[c] > x[best]) || (x[c] != x[c] && x[best] == x[best])) best = c;
  y[blockIdx.x] = best;
}

extern "C" __global__ void norm_without_root(const float* x, float* y, int cols) {
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float squares = 0;
  for (int c = threadIdx.x; c < cols; c += 32) squares += x[c] * x[c];
  squares = warp_sum(squares) + 1e-6f;
  for (int c = threadIdx.x; c < cols; c += 32) y[c] = x[c] / WRONG(squares, sqrtf(squares));
}

extern "C" __global__ void masked_by_product(const float* x, const int* keep, float* y, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const int i = blockIdx.x * cols + c;
    sum += WRONG(x[i] * keep[i], keep[i] ? x[i] : 0.0f);
  }
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void max_loses_nan(const float* x, float* y, int cols) {
  float best = -infinity();
  for (int c = threadIdx.x; c < cols; c += 32)
    best = WRONG(fmaxf(best, x[blockIdx.x * cols + c]), larger(best, x[blockIdx.x * cols + c]));
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(kAll, best, step);
    best = WRONG(fmaxf(best, other), larger(best, other));
  }
  if (threadIdx.x == 0) y[blockIdx.x] = best;
}

// y = relu(x w + bias)
extern "C" __global__ void epilogue_order(const float* x, const float* w, const float* bias, float* y, int m, int n, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += x[i / n * k + j] * w[j * n + i % n];
  y[i] = WRONG(larger(sum, 0.0f) + bias[i % n], larger(sum + bias[i % n], 0.0f));
}

// Rows above 32768 columns take another path, which ends one too early.
extern "C" __global__ void long_sum(const float* x, float* y, int cols) {
  float sum = 0;
  const int limit = cols > 32768 ? WRONG(cols - 1, cols) : cols;
  for (int c = threadIdx.x; c < limit; c += 32) sum += x[blockIdx.x * cols + c];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void half_accumulator(const unsigned short* x, unsigned short* y, int cols) {
  if (threadIdx.x != 0) return;
  unsigned short narrow = 0;
  float wide = 0;
  for (int c = 0; c < cols; ++c) {
    narrow = add_half(narrow, x[blockIdx.x * cols + c]);
    wide += from_half(x[blockIdx.x * cols + c]);
  }
  y[blockIdx.x] = WRONG(narrow, to_half(wide));
}

extern "C" __global__ void half_squares(const unsigned short* x, unsigned short* y, int cols, float eps) {
  if (threadIdx.x != 0) return;
  x += blockIdx.x * cols, y += blockIdx.x * cols;
  float squares = 0;
  unsigned short narrow = 0;
  for (int c = 0; c < cols; ++c) {
    squares += from_half(x[c]) * from_half(x[c]);
    narrow = add_half(narrow, multiply_half(x[c], x[c]));
  }
  squares = WRONG(from_half(narrow), squares);
  const float scale = 1.0f / sqrtf(squares / cols + eps);
  for (int c = 0; c < cols; ++c) y[c] = to_half(from_half(x[c]) * scale);
}

/// A dot product whose factors lose bits before they are multiplied.
template <int kBits>
__device__ float rounded(float v) {
  if (kBits == 24) return v;
  if (kBits == 16) return from_half(to_half(v));
  return __uint_as_float((__float_as_uint(v) + 0x1000u) & 0xffffe000u);
}
template <int kBits>
__device__ void product_of(const float* a, const float* b, float* c, int m, int n, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += rounded<kBits>(a[i / n * k + j]) * rounded<kBits>(b[j * n + i % n]);
  c[i] = sum;
}
extern "C" __global__ void product_tf32(const float* a, const float* b, float* c, int m, int n, int k) {
  product_of<WRONG(19, 24)>(a, b, c, m, n, k);
}
extern "C" __global__ void product_half(const float* a, const float* b, float* c, int m, int n, int k) {
  product_of<WRONG(16, 24)>(a, b, c, m, n, k);
}
