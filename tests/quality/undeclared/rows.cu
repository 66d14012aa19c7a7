// One block per row: norms, softmax and what follows from it.
#include "blocks.h"

extern "C" __global__ void row_sum(const float* x, float* y, int cols) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += x[blockIdx.x * cols + i];
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void total_by_atomics(const float* x, float* y, int n) {
  const int i = blockIdx.x * kThreads + threadIdx.x;
  const float sum = block_sum(i < n ? x[i] : 0.0f);
  if (threadIdx.x == 0) atomicAdd(y, sum);
}
extern "C" __global__ void set_zero(float* y) { *y = 0.0f; }

extern "C" __global__ void row_sum_half(const __half* x, __half* y, int cols) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += __half2float(x[blockIdx.x * cols + i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = __float2half(sum);
}

// One thread adds all of a row in float16.
extern "C" __global__ void row_sum_in_half(const __half* x, __half* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  __half sum = __float2half(0.0f);
  for (int i = 0; i < cols; ++i) sum = __hadd(sum, x[row * cols + i]);
  y[row] = sum;
}

template <bool kSubtracts>
__device__ void log_sum_exp_of(const float* x, float* y, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols;
  float most = -infinity(), sum = 0.0f;
  if (kSubtracts) {
    for (int i = threadIdx.x; i < cols; i += kThreads) most = larger(most, x[i]);
    most = block_max(most);
  } else {
    most = 0.0f;
  }
  const float shift = most == -infinity() || most == infinity() ? 0.0f : most;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += expf(x[i] - shift);
  sum = block_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = shift + logf(sum);
}
extern "C" __global__ void log_sum_exp(const float* x, float* y, int cols) { log_sum_exp_of<true>(x, y, cols); }
extern "C" __global__ void log_sum_exp_no_max(const float* x, float* y, int cols) { log_sum_exp_of<false>(x, y, cols); }

// Running maximum and sum of each thread, put together over the block.
template <bool kRescales>
__device__ void softmax_online_of(const float* x, float* y, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols;
  y += static_cast<long long>(blockIdx.x) * cols;
  float most = -infinity(), sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float v = x[i], now = larger(most, v);
    const float base = now == -infinity() ? 0.0f : now;  // As long as there was nothing but -infinity.
    sum = (kRescales ? sum * expf(most - base) : sum) + expf(v - base);
    most = now;
  }
  const float all = block_max(most);
  sum = block_sum(most == -infinity() ? 0.0f : kRescales ? sum * expf(most - all) : sum);
  for (int i = threadIdx.x; i < cols; i += kThreads) y[i] = expf(x[i] - all) / sum;
}
extern "C" __global__ void softmax_online(const float* x, float* y, int cols) { softmax_online_of<true>(x, y, cols); }
extern "C" __global__ void softmax_no_rescale(const float* x, float* y, int cols) { softmax_online_of<false>(x, y, cols); }

extern "C" __global__ void layernorm(const float* x, const float* w, const float* b, float* y, float* means, float* scales, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += x[i];
  const float mean = block_sum(sum) / cols;
  for (int i = threadIdx.x; i < cols; i += kThreads) square += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(block_sum(square) / cols + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += kThreads) y[blockIdx.x * cols + i] = (x[i] - mean) * scale * w[i] + b[i];
  if (threadIdx.x == 0) means[blockIdx.x] = mean, scales[blockIdx.x] = scale;
}

// E[x^2] - E[x]^2
extern "C" __global__ void layernorm_one_pass(const float* x, const float* w, const float* b, float* y, float* means, float* scales, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += x[i], square += x[i] * x[i];
  const float mean = block_sum(sum) / cols;
  const float variance = block_sum(square) / cols - mean * mean;
  const float scale = rsqrtf((variance > 0.0f ? variance : 0.0f) + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += kThreads) y[blockIdx.x * cols + i] = (x[i] - mean) * scale * w[i] + b[i];
  if (threadIdx.x == 0) means[blockIdx.x] = mean, scales[blockIdx.x] = scale;
}

// The intermediate results are float16, as of a chain of operations of a framework; sums are float32.
extern "C" __global__ void layernorm_half(const __half* x, const __half* w, const __half* b, __half* y, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += __half2float(x[i]);
  const float mean = block_sum(sum) / cols;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float apart = __half2float(x[i]) - mean;
    square += apart * apart;
  }
  const float scale = rsqrtf(block_sum(square) / cols + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const __half normal = __float2half((__half2float(x[i]) - mean) * scale);
    y[blockIdx.x * cols + i] = __hadd(__hmul(normal, w[i]), b[i]);
  }
}

// y = x + residual, then rmsnorm of it; both are outputs.
extern "C" __global__ void residual_rmsnorm(const float* x, const float* residual, const float* w, float* sums, float* y, int cols) {
  const int row = blockIdx.x * cols;
  float square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float v = x[row + i] + residual[row + i];
    sums[row + i] = v;
    square += v * v;
  }
  const float scale = rsqrtf(block_sum(square) / cols + 1e-6f);
  for (int i = threadIdx.x; i < cols; i += kThreads) y[row + i] = (x[row + i] + residual[row + i]) * scale * w[i];
}

template <bool kSubtracts>
__device__ void layernorm_backward_of(const float* x, const float* w, const float* dy, float* dx, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols;
  dy += static_cast<long long>(blockIdx.x) * cols;
  float sum = 0.0f, square = 0.0f, first = 0.0f, second = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += x[i];
  const float mean = block_sum(sum) / cols;
  for (int i = threadIdx.x; i < cols; i += kThreads) square += (x[i] - mean) * (x[i] - mean);
  const float scale = rsqrtf(block_sum(square) / cols + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float normal = (x[i] - mean) * scale, slope = dy[i] * w[i];
    first += slope;
    second += slope * normal;
  }
  first = block_sum(first) / cols;
  second = block_sum(second) / cols;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float normal = (x[i] - mean) * scale;
    dx[blockIdx.x * cols + i] = scale * (dy[i] * w[i] - first - (kSubtracts ? normal * second : 0.0f));
  }
}
extern "C" __global__ void layernorm_backward(const float* x, const float* w, const float* dy, float* dx, int cols) {
  layernorm_backward_of<true>(x, w, dy, dx, cols);
}
extern "C" __global__ void layernorm_backward_term_lost(const float* x, const float* w, const float* dy, float* dx, int cols) {
  layernorm_backward_of<false>(x, w, dy, dx, cols);
}

extern "C" __global__ void cross_entropy(const float* x, const int* target, float* loss, float* dx, int cols) {
  x += static_cast<long long>(blockIdx.x) * cols;
  float most = -infinity(), sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) most = larger(most, x[i]);
  most = block_max(most);
  for (int i = threadIdx.x; i < cols; i += kThreads) sum += expf(x[i] - most);
  sum = block_sum(sum);
  const int wanted = target[blockIdx.x] % cols;
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(sum) + most - x[wanted];
  for (int i = threadIdx.x; i < cols; i += kThreads) dx[blockIdx.x * cols + i] = expf(x[i] - most) / sum - (i == wanted ? 1.0f : 0.0f);
}

extern "C" __global__ void l2norm(const float* x, float* y, int cols) {
  float square = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) square += x[blockIdx.x * cols + i] * x[blockIdx.x * cols + i];
  const float length = larger(sqrtf(block_sum(square)), 1e-12f);
  for (int i = threadIdx.x; i < cols; i += kThreads) y[blockIdx.x * cols + i] = x[blockIdx.x * cols + i] / length;
}

// One thread per row.
template <typename T>
__device__ void update_by_row(const T* x, T* means, T* variances, int rows, int cols, int less) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  T mean = 0, square = 0;
  for (int i = 0; i < cols; ++i) {
    const T v = x[row * cols + i], apart = v - mean;
    mean += apart / (i + 1);
    square += apart * (v - mean);
  }
  means[row] = mean;
  variances[row] = square / (cols - less);
}
extern "C" __global__ void welford(const float* x, float* means, float* variances, int rows, int cols) {
  update_by_row(x, means, variances, rows, cols, 0);
}
// Each step of a mean of subnormal numbers rounds to a multiple of the smallest.
extern "C" __global__ void welford_wide(const double* x, double* means, double* variances, int rows, int cols) {
  update_by_row(x, means, variances, rows, cols, 0);
}
extern "C" __global__ void welford_wide_divisor(const double* x, double* means, double* variances, int rows, int cols) {
  update_by_row(x, means, variances, rows, cols, cols > 1);
}
extern "C" __global__ void variance_one_pass(const float* x, float* means, float* variances, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f, square = 0.0f;
  for (int i = 0; i < cols; ++i) sum += x[row * cols + i], square += x[row * cols + i] * x[row * cols + i];
  means[row] = sum / cols;
  variances[row] = square / cols - means[row] * means[row];
}

// x is [batch, channels, size]; one block per channel.
extern "C" __global__ void batchnorm(const float* x, const float* w, const float* b, float* y, int batch, int channels, int size) {
  const int channel = blockIdx.x, count = batch * size;
  float sum = 0.0f, square = 0.0f;
  for (int i = threadIdx.x; i < count; i += kThreads) sum += x[(i / size * channels + channel) * size + i % size];
  const float mean = block_sum(sum) / count;
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const float apart = x[(i / size * channels + channel) * size + i % size] - mean;
    square += apart * apart;
  }
  const float scale = rsqrtf(block_sum(square) / count + 1e-5f) * w[channel];
  for (int i = threadIdx.x; i < count; i += kThreads) {
    const int at = (i / size * channels + channel) * size + i % size;
    y[at] = (x[at] - mean) * scale + b[channel];
  }
}

// Sums up to each element: a warp scans 32 at a time.
extern "C" __global__ void scan(const float* x, float* y, int cols) {
  float before = 0.0f;
  for (int first = 0; first < cols; first += 32) {
    const int i = first + threadIdx.x;
    float v = i < cols ? x[blockIdx.x * cols + i] : 0.0f;
    for (int step = 1; step < 32; step *= 2) {
      const float other = __shfl_up_sync(kAll, v, step);
      if (threadIdx.x >= step) v += other;
    }
    if (i < cols) y[blockIdx.x * cols + i] = before + v;
    before += __shfl_sync(kAll, v, 31);
  }
}

// To eight bits with one scale per row.
extern "C" __global__ void quantize_rows(const float* x, signed char* y, float* scales, int cols) {
  float most = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) most = larger(most, fabsf(x[blockIdx.x * cols + i]));
  most = block_max(most);
  const float scale = larger(most, 1e-5f) / 127.0f;
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
  for (int i = threadIdx.x; i < cols; i += kThreads)
    y[blockIdx.x * cols + i] = static_cast<signed char>(rintf(x[blockIdx.x * cols + i] * (1.0f / scale)));
}

// The experts of each token: the largest of a softmax and where they stand, by one warp.
template <bool kKeepsPlace>
__device__ void route_of(const float* scores, float* weights, int* experts, int count, int most) {
  extern __shared__ float share[];
  const float* row = scores + blockIdx.x * count;
  const int lane = threadIdx.x;
  float peak = -INFINITY;
  for (int i = lane; i < count; i += 32) peak = larger(peak, row[i]);
  for (int step = 16; step > 0; step /= 2) peak = larger(peak, __shfl_xor_sync(kAll, peak, step));
  float sum = 0.0f;
  for (int i = lane; i < count; i += 32) sum += share[i] = __expf(row[i] - peak);
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(kAll, sum, step);
  for (int i = lane; i < count; i += 32) share[i] /= sum;
  __syncwarp();
  for (int k = 0; k < most; ++k) {
    float best = -2.0f;
    int at = 0;
    for (int i = lane; i < count; i += 32) {
      if (share[i] > best || isnan(share[i])) best = share[i], at = i;
    }
    for (int step = 16; step > 0; step /= 2) {
      const float other = __shfl_xor_sync(kAll, best, step);
      const int there = __shfl_xor_sync(kAll, at, step);
      if (other > best || isnan(other) || (other == best && there < at)) best = other, at = kKeepsPlace || step < 16 ? there : at;
    }
    if (lane == 0) {
      weights[blockIdx.x * most + k] = best;
      experts[blockIdx.x * most + k] = at;
      share[at] = -1.0f;
    }
    __syncwarp();
  }
}
extern "C" __global__ void route(const float* scores, float* weights, int* experts, int count, int most) { route_of<true>(scores, weights, experts, count, most); }
// The weight of the other half of the warp, with the expert of the own one.
extern "C" __global__ void route_to_own_half(const float* scores, float* weights, int* experts, int count, int most) {
  route_of<false>(scores, weights, experts, count, most);
}
