// Steps of training and of serving, as well-known projects split them into kernels.
#include "blocks.h"

// One query against keys in parts that threads read apart from each other; their sums are put together at the end.
template <bool kRescaled>
__device__ void decode(const float* q, const float* k, const float* v, float* y, int keys, int width) {
  extern __shared__ float parts[];  // [blockDim.x][width + 2]: sums, maximum, total
  float* sums = parts + threadIdx.x * (width + 2);
  const float* mine = q + blockIdx.x * width;
  float most = -infinity(), total = 0.0f;
  for (int i = 0; i < width; ++i) sums[i] = 0.0f;
  for (int key = threadIdx.x; key < keys; key += blockDim.x) {
    const float* row = k + (blockIdx.x * keys + key) * width;
    float score = 0.0f;
    for (int i = 0; i < width; ++i) score += mine[i] * row[i];
    score *= rsqrtf(static_cast<float>(width));
    const float next = larger(most, score), before = most == next ? 1.0f : expf(most - next), weight = next == -infinity() ? 0.0f : expf(score - next);
    total = total * before + weight;
    for (int i = 0; i < width; ++i) sums[i] = sums[i] * before + weight * v[(blockIdx.x * keys + key) * width + i];
    most = next;
  }
  sums[width] = most;
  sums[width + 1] = total;
  __syncthreads();
  const int used = min(static_cast<int>(blockDim.x), keys);
  float whole = -infinity(), weights = 0.0f;
  for (int part = 0; part < used; ++part) whole = larger(whole, parts[part * (width + 2) + width]);
  for (int part = 0; part < used; ++part) {
    const float* other = parts + part * (width + 2);
    weights += other[width + 1] * (kRescaled && other[width] != whole ? expf(other[width] - whole) : 1.0f);
  }
  for (int i = threadIdx.x; i < width; i += blockDim.x) {
    float sum = 0.0f;
    for (int part = 0; part < used; ++part) {
      const float* other = parts + part * (width + 2);
      sum += other[i] * (kRescaled && other[width] != whole ? expf(other[width] - whole) : 1.0f);
    }
    y[blockIdx.x * width + i] = sum / weights;
  }
}
extern "C" __global__ void decode_in_parts(const float* q, const float* k, const float* v, float* y, int keys, int width) {
  decode<true>(q, k, v, y, keys, width);
}
extern "C" __global__ void bad_decode_parts_not_scaled(const float* q, const float* k, const float* v, float* y, int keys, int width) {
  decode<false>(q, k, v, y, keys, width);
}

// Gradients of a layernorm's weight and bias: a thread per column. The mean and its scale are those of the forward pass.
template <bool kCentred>
__device__ void weights_backward(const float* x, const float* dy, const float* mean, const float* scale, float* dw, float* db, int rows, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float of_weight = 0.0f, of_bias = 0.0f;
  for (int row = 0; row < rows; ++row) {
    const float slope = dy[row * cols + col], value = x[row * cols + col];
    of_weight += slope * (kCentred ? value - mean[row] : value) * scale[row];
    of_bias += slope;
  }
  dw[col] = of_weight;
  db[col] = of_bias;
}
extern "C" __global__ void layernorm_weights_backward(const float* x, const float* dy, const float* mean, const float* scale, float* dw, float* db, int rows, int cols) {
  weights_backward<true>(x, dy, mean, scale, dw, db, rows, cols);
}
extern "C" __global__ void bad_layernorm_weights_not_centred(const float* x, const float* dy, const float* mean, const float* scale, float* dw, float* db, int rows, int cols) {
  weights_backward<false>(x, dy, mean, scale, dw, db, rows, cols);
}

// Cross entropy with a tenth of the weight on all classes alike.
template <int kOthers>
__device__ void smoothed(const float* x, const int* label, float* loss, int cols) {
  const float* row = x + blockIdx.x * cols;
  float most = -infinity(), total = 0.0f, sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) most = larger(most, row[i]);
  most = block_max(most);
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    total += expf(row[i] - most);
    sum += row[i] - most;
  }
  total = block_sum(total);
  sum = block_sum(sum);
  const float of_all = logf(total);
  if (threadIdx.x == 0) loss[blockIdx.x] = 0.9f * (of_all - (row[label[blockIdx.x]] - most)) + 0.1f * (of_all - sum / (cols + kOthers));
}
extern "C" __global__ void cross_entropy_smoothed(const float* x, const int* label, float* loss, int cols) { smoothed<0>(x, label, loss, cols); }
extern "C" __global__ void bad_cross_entropy_smoothed_by_more(const float* x, const int* label, float* loss, int cols) { smoothed<1>(x, label, loss, cols); }

// Gradients of a * gelu(b).
template <bool kWhole>
__device__ void gated_backward(const float* a, const float* b, const float* dy, float* da, float* db, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = b[i], share = 0.5f * (1.0f + erff(x * 0.70710678f));
  const float density = 0.39894228f * expf(-0.5f * x * x);
  da[i] = dy[i] * x * share;
  db[i] = dy[i] * a[i] * (kWhole ? share + x * density : share);
}
extern "C" __global__ void geglu_backward(const float* a, const float* b, const float* dy, float* da, float* db, int n) { gated_backward<true>(a, b, dy, da, db, n); }
extern "C" __global__ void bad_geglu_backward_half(const float* a, const float* b, const float* dy, float* da, float* db, int n) { gated_backward<false>(a, b, dy, da, db, n); }

// A convolution over the current and three earlier steps of each channel, then silu.
template <int kBehind>
__device__ void convolve(const float* x, const float* w, const float* b, float* y, int steps) {
  const int step = blockIdx.x * blockDim.x + threadIdx.x, channel = blockIdx.y;
  if (step >= steps) return;
  float sum = b[channel];
  for (int tap = 0; tap < 4; ++tap) {
    const int from = step - 3 + tap + kBehind;
    if (from >= 0 && from < steps) sum += w[channel * 4 + tap] * x[channel * steps + from];
  }
  y[channel * steps + step] = sum / (1.0f + expf(-sum));
}
extern "C" __global__ void convolve_causal(const float* x, const float* w, const float* b, float* y, int steps) { convolve<0>(x, w, b, y, steps); }
extern "C" __global__ void bad_convolve_causal_ahead(const float* x, const float* w, const float* b, float* y, int steps) { convolve<1>(x, w, b, y, steps); }

// Stochastic gradient descent with the momentum of Nesterov.
template <bool kAhead>
__device__ void descend(const float* p, const float* g, const float* m, float* stepped, float* momentum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float slope = g[i] + 1e-4f * p[i], kept = 0.9f * m[i] + slope;
  momentum[i] = kept;
  stepped[i] = p[i] - 0.01f * (kAhead ? slope + 0.9f * kept : kept);
}
extern "C" __global__ void nesterov(const float* p, const float* g, const float* m, float* stepped, float* momentum, int n) { descend<true>(p, g, m, stepped, momentum, n); }
extern "C" __global__ void bad_nesterov_not_ahead(const float* p, const float* g, const float* m, float* stepped, float* momentum, int n) { descend<false>(p, g, m, stepped, momentum, n); }

// Distances between rows of two matrices.
extern "C" __global__ void distances(const float* a, const float* b, float* y, int others, int width) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= others) return;
  float sum = 0.0f;
  for (int i = 0; i < width; ++i) {
    const float apart = a[blockIdx.y * width + i] - b[j * width + i];
    sum += apart * apart;
  }
  y[blockIdx.y * others + j] = sqrtf(sum);
}
extern "C" __global__ void bad_distances_by_products(const float* a, const float* b, float* y, int others, int width) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= others) return;
  float of_a = 0.0f, of_b = 0.0f, both = 0.0f;
  for (int i = 0; i < width; ++i) {
    const float left = a[blockIdx.y * width + i], right = b[j * width + i];
    of_a += left * left, of_b += right * right, both += left * right;
  }
  const float square = of_a + of_b - 2.0f * both;
  y[blockIdx.y * others + j] = sqrtf(square < 0.0f ? 0.0f : square);
}

// An image three times as wide and twice as high, each pixel between four.
template <bool kCentres>
__device__ void resize(const float* x, float* y, int height, int width) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y, wide = 3 * width;
  if (col >= wide) return;
  const float down = kCentres ? fmaxf((row + 0.5f) / 2.0f - 0.5f, 0.0f) : row / 2.0f;
  const float across = kCentres ? fmaxf((col + 0.5f) / 3.0f - 0.5f, 0.0f) : col / 3.0f;
  const int top = static_cast<int>(down), left = static_cast<int>(across);
  const int bottom = min(top + 1, height - 1), right = min(left + 1, width - 1);
  const float low = down - top, far = across - left;
  const float above = (1.0f - far) * x[top * width + left] + far * x[top * width + right];
  const float below = (1.0f - far) * x[bottom * width + left] + far * x[bottom * width + right];
  y[row * wide + col] = (1.0f - low) * above + low * below;
}
extern "C" __global__ void resize_image(const float* x, float* y, int height, int width) { resize<true>(x, y, height, width); }
extern "C" __global__ void bad_resize_from_corners(const float* x, float* y, int height, int width) { resize<false>(x, y, height, width); }
