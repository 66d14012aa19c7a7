// Steps of language models, each beside the same with one mistake.
#include <cuda_bf16.h>

#include "blocks.h"

// One warp per query: two passes over the keys up to it, scores in shared memory.
template <int kBeyond>
__device__ void causal_of(const float* q, const float* k, const float* v, float* y, int queries, int depth) {
  extern __shared__ float scores[];
  const int query = blockIdx.x, last = query + kBeyond < queries ? query + kBeyond : queries - 1;
  float most = -infinity(), total = 0.0f;
  for (int key = threadIdx.x; key <= last; key += 32) {
    float score = 0.0f;
    for (int i = 0; i < depth; ++i) score += q[query * depth + i] * k[key * depth + i];
    scores[key] = score * rsqrtf(static_cast<float>(depth));
    most = larger(most, scores[key]);
  }
  for (int step = 16; step > 0; step /= 2) most = larger(most, __shfl_xor_sync(kAll, most, step));
  for (int key = threadIdx.x; key <= last; key += 32) {
    scores[key] = expf(scores[key] - most);
    total += scores[key];
  }
  total = warp_sum(total);
  __syncwarp();
  for (int i = threadIdx.x; i < depth; i += 32) {
    float sum = 0.0f;
    for (int key = 0; key <= last; ++key) sum += scores[key] * v[key * depth + i];
    y[query * depth + i] = sum / total;
  }
}
extern "C" __global__ void causal(const float* q, const float* k, const float* v, float* y, int queries, int depth) {
  causal_of<0>(q, k, v, y, queries, depth);
}
extern "C" __global__ void causal_one_beyond(const float* q, const float* k, const float* v, float* y, int queries, int depth) {
  causal_of<1>(q, k, v, y, queries, depth);
}

// One thread per element of the output; the weighted sum is kept in float16.
extern "C" __global__ void attention_half_sums(const __half* q, const __half* k, const __half* v, __half* y, int keys, int depth) {
  const int query = blockIdx.x, i = threadIdx.x;
  if (i >= depth) return;
  float most = -infinity(), total = 0.0f;
  __half sum = __float2half(0.0f);
  for (int key = 0; key < keys; ++key) {
    float score = 0.0f;
    for (int at = 0; at < depth; ++at) score += __half2float(q[query * depth + at]) * __half2float(k[key * depth + at]);
    score *= rsqrtf(static_cast<float>(depth));
    const float now = larger(most, score), before = expf(most - now), p = expf(score - now);
    total = total * before + p;
    sum = __hfma(__float2half(p), v[key * depth + i], __hmul(sum, __float2half(before)));
    most = now;
  }
  y[query * depth + i] = __float2half(__half2float(sum) / total);
}

// Halves of each row turned; angles from powf, sinf and cosf.
template <int kStep>
__device__ void rotate_halves(const __half* x, __half* y, int width) {
  const int row = blockIdx.x, half = width / 2;
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    const float angle = row * powf(10000.0f, -static_cast<float>(kStep) * i / width), c = cosf(angle), s = sinf(angle);
    const float a = __half2float(x[row * width + i]), b = __half2float(x[row * width + half + i]);
    y[row * width + i] = __float2half(a * c - b * s);
    y[row * width + half + i] = __float2half(a * s + b * c);
  }
}
extern "C" __global__ void rope_halves(const __half* x, __half* y, int width) { rotate_halves<2>(x, y, width); }
extern "C" __global__ void rope_slow_angles(const __half* x, __half* y, int width) { rotate_halves<1>(x, y, width); }

// The sum of both is stored in float16, and normed as stored.
template <bool kNormsSum>
__device__ void residual_layernorm_of(const __half* x, const __half* residual, const __half* w, __half* sums, __half* y, int cols) {
  const int row = blockIdx.x * cols;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    sums[row + i] = __hadd(x[row + i], residual[row + i]);
    sum += __half2float(kNormsSum ? sums[row + i] : x[row + i]);
  }
  const float mean = block_sum(sum) / cols;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float apart = __half2float(sums[row + i]) - mean;
    square += apart * apart;
  }
  const float scale = rsqrtf(block_sum(square) / cols + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += kThreads)
    y[row + i] = __float2half((__half2float(sums[row + i]) - mean) * scale * __half2float(w[i]));
}
extern "C" __global__ void residual_layernorm(const __half* x, const __half* residual, const __half* w, __half* sums, __half* y, int cols) {
  residual_layernorm_of<true>(x, residual, w, sums, y, cols);
}
extern "C" __global__ void residual_left_out(const __half* x, const __half* residual, const __half* w, __half* sums, __half* y, int cols) {
  residual_layernorm_of<false>(x, residual, w, sums, y, cols);
}

// Logits of float16, loss of float32.
template <bool kSubtracts>
__device__ void loss_of_halves(const __half* x, const int* target, float* loss, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols;
  float most = kSubtracts ? -infinity() : 0.0f, sum = 0.0f;
  for (int i = threadIdx.x; kSubtracts && i < cols; i += kThreads) most = larger(most, __half2float(x[i]));
  if (kSubtracts) most = block_max(most);
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += __expf(__half2float(x[i]) - most);
  sum = block_sum(sum);
  if (threadIdx.x == 0) loss[blockIdx.x] = __logf(sum) + most - __half2float(x[target[blockIdx.x] % cols]);
}
extern "C" __global__ void cross_entropy_half(const __half* x, const int* target, float* loss, int cols) { loss_of_halves<true>(x, target, loss, cols); }
extern "C" __global__ void cross_entropy_no_max(const __half* x, const int* target, float* loss, int cols) { loss_of_halves<false>(x, target, loss, cols); }

// The gate is rounded before the product, as a framework that fuses nothing does.
extern "C" __global__ void swiglu(const __nv_bfloat16* gate, const __nv_bfloat16* up, __nv_bfloat16* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = __bfloat162float(gate[i]);
  y[i] = __hmul(__float2bfloat16(v / (1.0f + __expf(-v))), up[i]);
}

// Weights of four bits, eight to a word, a scale for each 32 of them.
template <bool kOwnScale, bool kInOrder>
__device__ void linear_of_nibbles(const __half* x, const unsigned* w, const __half* scales, __half* y, int n, int k) {
  const int column = blockIdx.x, row = blockIdx.y, words = k / 8, groups = k / 32;
  float sum = 0.0f;
  for (int word = threadIdx.x; word < words; word += kThreads) {
    const unsigned packed = w[column * words + word];
    const float scale = __half2float(scales[column * groups + (kOwnScale ? word / 4 : 0)]);
    for (int i = 0; i < 8; ++i) {
      const int from = kInOrder || i < 5 || i > 6 ? i : 11 - i;
      sum += __half2float(x[row * k + word * 8 + i]) * (static_cast<int>(packed >> (4 * from) & 15) - 8) * scale;
    }
  }
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[row * n + column] = __float2half(sum);
}
extern "C" __global__ void linear_int4(const __half* x, const unsigned* w, const __half* scales, __half* y, int n, int k) {
  linear_of_nibbles<true, true>(x, w, scales, y, n, k);
}
extern "C" __global__ void linear_int4_first_scale(const __half* x, const unsigned* w, const __half* scales, __half* y, int n, int k) {
  linear_of_nibbles<false, true>(x, w, scales, y, n, k);
}
extern "C" __global__ void linear_int4_swaps_two(const __half* x, const unsigned* w, const __half* scales, __half* y, int n, int k) {
  linear_of_nibbles<true, false>(x, w, scales, y, n, k);
}

// x is [batch, channels, size] in groups of `wide` channels; one block per group.
template <bool kTwoPasses>
__device__ void groupnorm_silu_of(const float* x, const float* w, const float* b, float* y, int wide, int size, int groups) {
  const int count = wide * size, first = blockIdx.x * count, channel = blockIdx.x % groups * wide;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += x[first + i];
  const float mean = block_sum(sum) / count;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const float apart = x[first + i] - (kTwoPasses ? mean : 0.0f);
    square += apart * apart;
  }
  square = block_sum(square) / count;
  const float variance = kTwoPasses ? square : larger(square - mean * mean, 0.0f), scale = rsqrtf(variance + 1e-5f);
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const float v = (x[first + i] - mean) * scale * w[channel + i / size] + b[channel + i / size];
    y[first + i] = v / (1.0f + __expf(-v));
  }
}
extern "C" __global__ void groupnorm_silu(const float* x, const float* w, const float* b, float* y, int wide, int size, int groups) {
  groupnorm_silu_of<true>(x, w, b, y, wide, size, groups);
}
extern "C" __global__ void groupnorm_silu_one_pass(const float* x, const float* w, const float* b, float* y, int wide, int size, int groups) {
  groupnorm_silu_of<false>(x, w, b, y, wide, size, groups);
}

extern "C" __global__ void log_softmax_backward(const float* y, const float* dy, float* dx, int cols) {
  const int row = blockIdx.x * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += dy[row + i];
  sum = block_sum(sum);
  for (int i = threadIdx.x; i < cols; i += kThreads) dx[row + i] = dy[row + i] - expf(y[row + i]) * sum;
}

// One thread per channel goes through the steps; softplus of a large number is the number itself.
template <int kLarge>
__device__ void selective_scan_of(const float* u, const float* step, const float* a, const float* b, const float* c, float* y, int length, int channels) {
  const int channel = blockIdx.x * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  float state = 0.0f;
  for (int t = 0; t < length; ++t) {
    const float raw = step[t * channels + channel], wide = raw > kLarge ? raw : log1pf(expf(raw));
    state = expf(-wide * a[channel]) * state + wide * b[t] * u[t * channels + channel];
    y[t * channels + channel] = state * c[t];
  }
}
extern "C" __global__ void selective_scan(const float* u, const float* step, const float* a, const float* b, const float* c, float* y, int length, int channels) {
  selective_scan_of<20>(u, step, a, b, c, y, length, channels);
}
extern "C" __global__ void selective_scan_linear_early(const float* u, const float* step, const float* a, const float* b, const float* c, float* y, int length,
                                                       int channels) {
  selective_scan_of<4>(u, step, a, b, c, y, length, channels);
}

// One thread per row.
template <bool kTwoPasses>
__device__ void layernorm_of_thread(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  x += static_cast<long long>(row) * cols;
  float mean = 0.0f, square = 0.0f;
  for (int i = 0; i < cols; ++i) mean += x[i];
  mean /= cols;
  for (int i = 0; i < cols; ++i) {
    const float apart = kTwoPasses ? x[i] - mean : x[i];
    square += apart * apart;
  }
  const float variance = kTwoPasses ? square / cols : square / cols - mean * mean, deviation = sqrtf(variance + 1e-5f);
  for (int i = 0; i < cols; ++i) y[static_cast<long long>(row) * cols + i] = (x[i] - mean) / deviation;
}
extern "C" __global__ void layernorm_by_thread(const float* x, float* y, int rows, int cols) { layernorm_of_thread<true>(x, y, rows, cols); }
extern "C" __global__ void layernorm_by_thread_one_pass(const float* x, float* y, int rows, int cols) { layernorm_of_thread<false>(x, y, rows, cols); }
