// Faults of sizes: tails, tiles, strides, broadcasts, axes. Correct with -DFIXED.
#include "twins.h"

extern "C" __global__ void tail_read(const float* x, float* y, int n) {
  __shared__ float part[128];
  const int t = threadIdx.x, i = blockIdx.x * 128 + t;
  part[t] = WRONG(x[i], i < n ? x[i] : 0.0f);  // FAULT tail_read
  __syncthreads();
  for (int step = 64; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) y[blockIdx.x] = part[0];
}

extern "C" __global__ void neighbour_read(const float* x, float* y, int rows, int cols) {
  float sum = 0;
  const int limit = WRONG((cols + 31) / 32 * 32, cols);
  for (int c = threadIdx.x; c < limit; c += 32) sum += x[blockIdx.x * cols + c];  // FAULT neighbour_read
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void tail_write(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float v = i < n ? 2.0f * x[i] : 0.0f;
  if (WRONG(true, i < n)) y[i] = v;  // FAULT tail_write
}

extern "C" __global__ void row_max_fill(const float* x, float* y, int cols) {
  float best = WRONG(0.0f, -infinity());
  for (int c = threadIdx.x; c < cols; c += 32) best = larger(best, x[blockIdx.x * cols + c]);
  best = warp_max(best);
  if (threadIdx.x == 0) y[blockIdx.x] = best;
}

// Windows of nothing but -infinity have another maximum than that.
extern "C" __global__ void window_max_fill(const float* x, float* y, int cols, int width) {
  const int windows = (cols + width - 1) / width;
  for (int w = threadIdx.x; w < windows; w += 32) {
    float best = WRONG(-3.402823466e38f, -infinity());
    for (int c = w * width; c < min(cols, w * width + width); ++c) best = larger(best, x[blockIdx.x * cols + c]);
    y[blockIdx.x * windows + w] = best;
  }
}

extern "C" __global__ void row_product_fill(const float* x, float* y, int cols) {
  float product = 1;
  for (int c = threadIdx.x; c < (cols + 31) / 32 * 32; c += 32)
    product *= c < cols ? x[blockIdx.x * cols + c] : WRONG(0.0f, 1.0f);
  for (int step = 16; step > 0; step /= 2) product *= __shfl_xor_sync(kAll, product, step);
  if (threadIdx.x == 0) y[blockIdx.x] = product;
}

extern "C" __global__ void row_short(const float* x, float* y, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < WRONG(cols - 1, cols); c += 32) sum += x[blockIdx.x * cols + c];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// The grid is n / 128, rounded down.
extern "C" __global__ void floor_grid(const float* x, float* y, int n) {
  const int stride = WRONG(n, gridDim.x * blockDim.x);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = 2.0f * x[i];
}

extern "C" __global__ void vector_tail(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n / 4) {
    float4 v = reinterpret_cast<const float4*>(x)[i];
    v.x *= 2, v.y *= 2, v.z *= 2, v.w *= 2;
    reinterpret_cast<float4*>(y)[i] = v;
  }
  if (WRONG(false, i < n % 4)) y[n / 4 * 4 + i] = 2.0f * x[n / 4 * 4 + i];
}

// The grid ends at four blocks.
extern "C" __global__ void no_grid_stride(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
#ifdef FIXED
  for (int j = i + gridDim.x * blockDim.x; j < n; j += gridDim.x * blockDim.x) y[j] = 2.0f * x[j];
#endif
}

extern "C" __global__ void wide_stride(const float* x, float* y, int n) {
  const int stride = gridDim.x * WRONG(blockDim.x + 1, blockDim.x);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) y[i] = 2.0f * x[i];
}

extern "C" __global__ void block_size(const float* x, float* y, int n) {
  __shared__ float part[WRONG(128, 256)];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = t; i < n; i += blockDim.x) sum += x[i];
  part[t] = sum;  // FAULT block_size
  __syncthreads();
  if (t == 0) {
    for (int k = 1; k < blockDim.x; ++k) sum += part[k];
    y[0] = sum;
  }
}

/// The tree begins at half of the block that its author launched, whatever this launch has.
extern "C" __global__ void block_variant(const float* x, float* y, int n) {
  __shared__ float part[256];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = t; i < n; i += blockDim.x) sum += x[i];
  part[t] = sum;
  __syncthreads();
  for (int step = WRONG(64, blockDim.x / 2); step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) y[0] = part[0];
}

/// Several elements for each thread; one number of them forgets the rest.
extern "C" __global__ void variant_rest(const float* x, float* y, int n, int each) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * each;
  const int end = WRONG(each == 4 ? n / 4 * 4 : n, n);
  for (int i = first; i < first + each && i < end; ++i) y[i] = 2 * x[i];
}

/// 16 x 16 tiles of C = A B; every guard can be left out.
template <bool kRowGuard, bool kColumnGuard, bool kLastTile>
__device__ void tiled_product(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[16][17], right[16][17];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  const int tiles = kLastTile ? (k + 15) / 16 : k / 16;
  for (int tile = 0; tile < tiles; ++tile) {
    const int at = tile * 16;
    left[y][x] = (row < m || !kRowGuard) && at + x < k ? a[row * k + at + x] : 0.0f;  // FAULT product_rows
    right[y][x] = column < n && at + y < k ? b[(at + y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (row < m && (column < n || !kColumnGuard)) c[row * n + column] = sum;  // FAULT product_columns
}

extern "C" __global__ void product_rows(const float* a, const float* b, float* c, int m, int n, int k) {
  tiled_product<WRONG(false, true), true, true>(a, b, c, m, n, k);
}
extern "C" __global__ void product_columns(const float* a, const float* b, float* c, int m, int n, int k) {
  tiled_product<true, WRONG(false, true), true>(a, b, c, m, n, k);
}
extern "C" __global__ void product_depth(const float* a, const float* b, float* c, int m, int n, int k) {
  tiled_product<true, true, WRONG(false, true)>(a, b, c, m, n, k);
}

extern "C" __global__ void empty_row(const float* x, float* y, int cols) {
  if (threadIdx.x != 0) return;
  float sum = 0;
#ifndef FIXED
  sum = x[blockIdx.x * cols];  // FAULT empty_row
#endif
  for (int c = WRONG(1, 0); c < cols; ++c) sum += x[blockIdx.x * cols + c];
  y[blockIdx.x] = sum;
}

// The next tile is loaded while this one is summed.
extern "C" __global__ void pipelined_dot(const float* a, const float* b, float* y, int k) {
  const int t = threadIdx.x;
  const float *left = a + blockIdx.x * k, *right = b + blockIdx.x * k;
  float sum = 0, u = t < k ? left[t] : 0.0f, v = t < k ? right[t] : 0.0f;
  for (int next = t + 32; next < (k + 31) / 32 * 32; next += 32) {
    const float p = next < k ? left[next] : 0.0f, q = next < k ? right[next] : 0.0f;
    sum += u * v;
    u = p, v = q;
  }
#ifdef FIXED
  sum += u * v;
#endif
  sum = warp_sum(sum);
  if (t == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void stride_ignored(const float* x, long long stride, float* y, int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i] = 2.0f * x[i / cols * WRONG(cols, stride) + i % cols];
}

extern "C" __global__ void leading_dim(const float* x, float* y, int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i] = 2.0f * x[i / cols * WRONG(rows, cols) + i % cols];
}

// The bias has as many rows as x, or one.
extern "C" __global__ void broadcast_bias(const float* x, const float* bias, float* y, int rows, int cols, int bias_rows) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i] = x[i] + bias[WRONG(i % cols, bias_rows == 1 ? i % cols : i)];
}

extern "C" __global__ void vector_rows(const float* x, float* y, int cols) {
  const float* row = x + blockIdx.x * cols;
  float sum = 0;
  const bool aligned = WRONG(true, cols % 4 == 0);
  const int whole = aligned ? cols / 4 : 0;
  for (int c = threadIdx.x; c < whole; c += 32) {
    const float4 v = reinterpret_cast<const float4*>(row)[c];  // FAULT vector_rows
    sum += (v.x + v.y) + (v.z + v.w);
  }
  for (int c = whole * 4 + threadIdx.x; c < cols; c += 32) sum += row[c];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// x may begin at any element.
extern "C" __global__ void vector_base(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool aligned = WRONG(true, reinterpret_cast<unsigned long long>(x) % 8 == 0);
  if (2 * i + 1 < n && aligned) {
    const float2 v = reinterpret_cast<const float2*>(x)[i];  // FAULT vector_base
    y[2 * i] = 2 * v.x, y[2 * i + 1] = 2 * v.y;
    return;
  }
  for (int k = 2 * i; k < min(n, 2 * i + 2); ++k) y[k] = 2 * x[k];
}

// One block; n is at most 256.
extern "C" __global__ void in_place_mean(float* x, int n) {
  const int t = threadIdx.x;
  if (t >= n) return;
#ifdef FIXED
  const float before = t > 0 ? x[t - 1] : 0.0f, here = x[t], after = t + 1 < n ? x[t + 1] : 0.0f;
  __syncthreads();
  x[t] = (before + here + after) / 3.0f;
#else
  x[t] = ((t > 0 ? x[t - 1] : 0.0f) + x[t] + (t + 1 < n ? x[t + 1] : 0.0f)) / 3.0f;  // FAULT in_place_mean
#endif
}

extern "C" __global__ void input_scaled(float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = 2.0f * x[i];
  if (WRONG(v > 1.0f, false)) x[i] = v;
  y[i] = v;
}

extern "C" __global__ void wrong_axis(const float* x, float* y, int rows, int cols) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= cols) return;
  float sum = 0;
  for (int r = 0; r < rows; ++r) sum += x[WRONG(c * rows + r, r * cols + c)];
  y[c] = sum;
}

extern "C" __global__ void operand_transposed(const float* a, const float* b, float* c, int m, int n, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  float sum = 0;
  for (int j = 0; j < k; ++j) sum += a[i / n * k + j] * b[WRONG(i % n * k + j, j * n + i % n)];
  c[i] = sum;
}

extern "C" __global__ void output_layout(const float* x, float* y, int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[WRONG(i % cols * rows + i / cols, i)] = 2.0f * x[i];
}

// Right; it is the reference that answers another shape, or another type, than was declared.
extern "C" __global__ void row_sums(const float* x, float* y, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) sum += x[blockIdx.x * cols + c];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// Each thread doubles 16 elements in pieces of 4; pieces that begin 3 apart do some of the work twice.
extern "C" __global__ void pieces_overlap(const float* x, float* y, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 16;
  const int end = first + 16 < n ? first + 16 : n;
  for (int piece = first; piece < end; piece += WRONG(3, 4))
    for (int i = piece; i < piece + 4 && i < end; ++i) y[i] = 2.0f * x[i];  // FAULT pieces_overlap
}

// Row sums by a path of its own from 8 rows on, which forgets the last column.
extern "C" __global__ void shorter_for_many_rows(const float* x, float* y, int rows, int cols) {
  const int end = rows >= 8 ? cols - WRONG(1, 0) : cols;
  float sum = 0;
  for (int c = threadIdx.x; c < end; c += 32) sum += x[blockIdx.x * cols + c];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}
