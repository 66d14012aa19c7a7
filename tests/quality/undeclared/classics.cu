// What textbooks and samples of toolkits begin with, and steps of optimisers, each beside the same with one mistake.
#include "blocks.h"

// Up and down a tree in shared memory: the sum of what is before each element, 256 at most.
template <bool kWaits>
__device__ void sums_before(const float* x, float* y, int cols) {
  __shared__ float tree[256];
  const int i = threadIdx.x, first = blockIdx.x * cols;
  tree[i] = i < cols ? x[first + i] : 0.0f;
  int apart = 1;
  for (int pairs = 128; pairs > 0; pairs /= 2, apart *= 2) {
    __syncthreads();
    if (i < pairs) tree[apart * (2 * i + 2) - 1] += tree[apart * (2 * i + 1) - 1];
  }
  if (i == 0) tree[255] = 0.0f;
  for (int pairs = 1; pairs < 256; pairs *= 2) {
    apart /= 2;
    if (kWaits || pairs > 32) __syncthreads();
    if (i < pairs) {
      const float left = tree[apart * (2 * i + 1) - 1];
      tree[apart * (2 * i + 1) - 1] = tree[apart * (2 * i + 2) - 1];
      tree[apart * (2 * i + 2) - 1] += left;
    }
  }
  __syncthreads();
  if (i < cols) y[first + i] = tree[i];
}
extern "C" __global__ void scan_tree(const float* x, float* y, int cols) { sums_before<true>(x, y, cols); }
extern "C" __global__ void scan_tree_waits_late(const float* x, float* y, int cols) { sums_before<false>(x, y, cols); }

// Counts of floats in [low, high), the upper end excluded.
template <bool kExcludes, bool kShifts = false>
__device__ void count_floats(const float* x, int* counts, int n, float low, float high, int bins) {
  extern __shared__ int own[];
  for (int i = threadIdx.x; i < bins; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const float v = x[i];
    if (!(v >= low && (kExcludes ? v < high : v <= high))) continue;
    const int bin = static_cast<int>((v - low) / (high - low) * bins + (kShifts ? 0.02f : 0.0f));
    atomicAdd(&own[bin < bins ? bin : bins - 1], 1);
  }
  __syncthreads();
  for (int i = threadIdx.x; i < bins; i += blockDim.x) atomicAdd(&counts[i], own[i]);
}
extern "C" __global__ void clear(int* counts, int bins) {
  if (threadIdx.x < bins) counts[threadIdx.x] = 0;
}
extern "C" __global__ void bins_of_floats(const float* x, int* counts, int n, float low, float high, int bins) {
  count_floats<true>(x, counts, n, low, high, bins);
}
extern "C" __global__ void bins_with_upper_end(const float* x, int* counts, int n, float low, float high, int bins) {
  count_floats<false>(x, counts, n, low, high, bins);
}
// Values near the end of a bin go to the next one; none is lost.
extern "C" __global__ void bins_shifted(const float* x, int* counts, int n, float low, float high, int bins) {
  count_floats<true, true>(x, counts, n, low, high, bins);
}

// The three largest of a row and where they were, the first of equal ones first and NaN last; one thread per row.
template <bool kKeepsOrder>
__device__ void three_of_row(const float* x, float* y, int* places, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float best[3] = {};
  int place[3] = {};
  for (int c = 0; c < cols; ++c) {
    const float v = x[row * cols + c];
    int at = c < 3 ? c : 3;
    while (at > 0 && ((kKeepsOrder ? v > best[at - 1] : v >= best[at - 1]) || (v == v && best[at - 1] != best[at - 1]))) --at;
    for (int i = 2; i > at; --i) best[i] = best[i - 1], place[i] = place[i - 1];
    if (at < 3) best[at] = v, place[at] = c;
  }
  for (int i = 0; i < 3; ++i) y[row * 3 + i] = best[i], places[row * 3 + i] = place[i];
}
extern "C" __global__ void top_three(const float* x, float* y, int* places, int rows, int cols) { three_of_row<true>(x, y, places, rows, cols); }
extern "C" __global__ void top_three_last(const float* x, float* y, int* places, int rows, int cols) { three_of_row<false>(x, y, places, rows, cols); }

__device__ float normal_below(float d) {
  const float k = 1.0f / (1.0f + 0.2316419f * fabsf(d));
  const float tail = 0.39894228040143267794f * expf(-0.5f * d * d) *
                     (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return d > 0.0f ? 1.0f - tail : tail;
}
extern "C" __global__ void option_prices(const float* price, const float* strike, const float* years, float* call, float* put, int n, float rate,
                                         float volatility) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float root = sqrtf(years[i]), discount = expf(-rate * years[i]);
  const float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years[i]) / (volatility * root), d2 = d1 - volatility * root;
  call[i] = price[i] * normal_below(d1) - strike[i] * discount * normal_below(d2);
  put[i] = strike[i] * discount * (1.0f - normal_below(d2)) - price[i] * (1.0f - normal_below(d1));
}

// Bodies are x, y, z and a mass.
template <bool kOfOthers>
__device__ void pull(const float* bodies, float* pulls, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum[3] = {};
  for (int other = 0; other < n; ++other) {
    float apart[3], square = 0.01f;
    for (int d = 0; d < 3; ++d) apart[d] = bodies[other * 4 + d] - bodies[i * 4 + d], square += apart[d] * apart[d];
    const float inverse = rsqrtf(square), weight = bodies[(kOfOthers ? other : i) * 4 + 3] * inverse * inverse * inverse;
    for (int d = 0; d < 3; ++d) sum[d] += weight * apart[d];
  }
  for (int d = 0; d < 3; ++d) pulls[i * 3 + d] = sum[d];
}
extern "C" __global__ void bodies_pull(const float* bodies, float* pulls, int n) { pull<true>(bodies, pulls, n); }
extern "C" __global__ void bodies_pull_themselves(const float* bodies, float* pulls, int n) { pull<false>(bodies, pulls, n); }

// Rows of a sparse matrix padded to one width, column by column.
extern "C" __global__ void sparse_rows(const int* places, const float* values, const float* x, float* y, int rows, int wide, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < wide; ++i) sum += values[i * rows + row] * x[places[i * rows + row] % n];
  y[row] = sum;
}

// 3 x 3, zeros around; x is [channels, height, width].
template <bool kEnds>
__device__ void convolve_of(const float* x, const float* w, float* y, int channels, int height, int width) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= height * width) return;
  float sum = 0.0f;
  for (int c = 0; c < channels; ++c) {
    for (int i = 0; i < 9; ++i) {
      const int row = at / width + i / 3 - 1, column = at % width + i % 3 - 1, from = row * width + column;
      const bool inside = row >= 0 && row < height && (kEnds ? column >= 0 && column < width : from >= 0 && from < height * width);
      if (inside) sum += x[c * height * width + from] * w[c * 9 + i];
    }
  }
  y[at] = sum;
}
extern "C" __global__ void convolve_image(const float* x, const float* w, float* y, int channels, int height, int width) {
  convolve_of<true>(x, w, y, channels, height, width);
}
extern "C" __global__ void convolve_around_ends(const float* x, const float* w, float* y, int channels, int height, int width) {
  convolve_of<false>(x, w, y, channels, height, width);
}

template <bool kStartsThere>
__device__ void average_of(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float average = x[row * cols] * (kStartsThere ? 1.0f : 0.1f);
  y[row * cols] = average;
  for (int c = 1; c < cols; ++c) y[row * cols + c] = average = 0.1f * x[row * cols + c] + 0.9f * average;
}
extern "C" __global__ void moving_average(const float* x, float* y, int rows, int cols) { average_of<true>(x, y, rows, cols); }
extern "C" __global__ void moving_average_from_zero(const float* x, float* y, int rows, int cols) { average_of<false>(x, y, rows, cols); }

// One step in the direction of a sign, whose 0 is 0; a NaN stays.
template <bool kHasZero>
__device__ void lion_of(float* p, const float* g, float* m, float rate, float decay, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float way = 0.9f * m[i] + 0.1f * g[i];
  const float sign = way > 0.0f ? 1.0f : way < 0.0f ? -1.0f : kHasZero ? way : way == 0.0f ? 1.0f : way;
  p[i] = p[i] * (1.0f - rate * decay) - rate * sign;
  m[i] = 0.99f * m[i] + 0.01f * g[i];
}
extern "C" __global__ void lion(float* p, const float* g, float* m, float rate, float decay, int n) { lion_of<true>(p, g, m, rate, decay, n); }
extern "C" __global__ void lion_moves_at_zero(float* p, const float* g, float* m, float rate, float decay, int n) { lion_of<false>(p, g, m, rate, decay, n); }

// Moments by two fused steps each: infinity minus infinity of an infinite gradient.
template <bool kDecaysBefore>
__device__ void adamw_of(float* p, const float* g, float* m, float* v, float rate, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = fmaf(0.9f, m[i], fmaf(-0.9f, g[i], g[i]));
  v[i] = fmaf(0.999f, v[i], fmaf(-0.999f, g[i] * g[i], g[i] * g[i]));
  const float step = m[i] / 0.1f / (sqrtf(v[i] / 0.001f) + 1e-8f);
  p[i] = kDecaysBefore ? p[i] - rate * (step + 0.01f * p[i]) : (p[i] - rate * step) * (1.0f - rate * 0.01f);
}
extern "C" __global__ void adamw_fused(float* p, const float* g, float* m, float* v, float rate, int n) { adamw_of<true>(p, g, m, v, rate, n); }
extern "C" __global__ void adamw_decays_after(float* p, const float* g, float* m, float* v, float rate, int n) { adamw_of<false>(p, g, m, v, rate, n); }

extern "C" __global__ void binary_cross_entropy(const float* x, const float* target, float* loss, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) loss[i] = larger(x[i], 0.0f) - x[i] * target[i] + log1pf(expf(-fabsf(x[i])));
}

// Quadratic up to 1, linear beyond.
template <int kEnd>
__device__ void huber_of(const float* x, const float* target, float* loss, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float apart = fabsf(x[i] - target[i]);
  loss[i] = apart < kEnd ? 0.5f * apart * apart : apart - 0.5f;
}
extern "C" __global__ void huber(const float* x, const float* target, float* loss, int n) { huber_of<1>(x, target, loss, n); }
extern "C" __global__ void huber_ends_late(const float* x, const float* target, float* loss, int n) { huber_of<2>(x, target, loss, n); }

// Sums of integers by bin, which nobody expects to fit where the integers are the largest of their type.
template <typename Weight>
__device__ void sum_by_bin(const int* bin, const int* weight, int* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&sums[bin[i]], static_cast<Weight>(weight[i]));
}
extern "C" __global__ void sums_by_bin(const int* bin, const int* weight, int* sums, int n) { sum_by_bin<int>(bin, weight, sums, n); }
extern "C" __global__ void sums_by_bin_of_shorts(const int* bin, const int* weight, int* sums, int n) { sum_by_bin<short>(bin, weight, sums, n); }

// The largest integer of each row. It may be negative.
template <bool kFromZero>
__device__ void row_largest(const int* x, int* y, int cols) {
  __shared__ int largest;
  if (threadIdx.x == 0) largest = kFromZero ? 0 : -2147483647 - 1;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x) atomicMax(&largest, x[blockIdx.x * cols + c]);
  __syncthreads();
  if (threadIdx.x == 0) y[blockIdx.x] = largest;
}
extern "C" __global__ void largest_of_integers(const int* x, int* y, int cols) { row_largest<false>(x, y, cols); }
extern "C" __global__ void largest_from_zero(const int* x, int* y, int cols) { row_largest<true>(x, y, cols); }

// Sums of 64 elements each, and of all before. Each block waits for the one before it.
extern "C" __global__ void clear_flags(int* ready) { ready[threadIdx.x] = 0; }
template <bool kFences>
__device__ void sums_in_turn(const float* x, volatile float* so_far, volatile int* ready, float* y, int n) {
  if (threadIdx.x != 0) return;
  const int b = blockIdx.x;
  float sum = 0.0f;
  for (int i = b * 64; i < min(n, b * 64 + 64); ++i) sum += x[i];
  if (b > 0) {
    while (ready[b - 1] == 0) {
    }
    __threadfence();
    sum += so_far[b - 1];
  }
  so_far[b] = sum;
  if (kFences) __threadfence();
  ready[b] = 1;
  y[b] = sum;
}
extern "C" __global__ void sums_so_far(const float* x, volatile float* so_far, volatile int* ready, float* y, int n) {
  sums_in_turn<true>(x, so_far, ready, y, n);
}
extern "C" __global__ void sums_without_fence(const float* x, volatile float* so_far, volatile int* ready, float* y, int n) {
  sums_in_turn<false>(x, so_far, ready, y, n);
}

// The length of a vector of two numbers of any size.
extern "C" __global__ void length_of_two(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = hypotf(a[i], b[i]);
}
extern "C" __global__ void length_of_squares(const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = sqrtf(a[i] * a[i] + b[i] * b[i]);
}
