// Products, transposes, stencils, gathers. All of them are right.
#include "warp.h"

extern "C" __global__ void product_tiles(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[16][17], right[16][17];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
  float sum = 0;
  for (int at = 0; at < k; at += 16) {
    left[y][x] = row < m && at + x < k ? a[row * k + at + x] : 0.0f;
    right[y][x] = column < n && at + y < k ? b[(at + y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

// Each thread makes four columns; two buffers, one barrier for each tile.
extern "C" __global__ void product_registers(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[2][8][9], right[2][8][33];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 8 + y, column = blockIdx.x * 32 + x * 4;
  float sum[4] = {};
  int buffer = 0;
  for (int at = 0; at < k; at += 8, buffer ^= 1) {
    left[buffer][y][x] = row < m && at + x < k ? a[row * k + at + x] : 0.0f;
    for (int j = 0; j < 4; ++j)
      right[buffer][y][x * 4 + j] = column + j < n && at + y < k ? b[(at + y) * n + column + j] : 0.0f;
    __syncthreads();
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 4; ++j) sum[j] += left[buffer][y][i] * right[buffer][i][x * 4 + j];
  }
  for (int j = 0; j < 4; ++j)
    if (row < m && column + j < n) c[row * n + column + j] = sum[j];
}

extern "C" __global__ void product_parts(const float* a, const float* b, float* part, int m, int n, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, split = blockIdx.y, splits = gridDim.y;
  if (i >= m * n) return;
  float sum = 0;
  for (int j = split; j < k; j += splits) sum += a[i / n * k + j] * b[j * n + i % n];
  part[static_cast<long long>(split) * m * n + i] = sum;
}
extern "C" __global__ void product_total(const float* part, float* c, int size, int splits) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  float sum = 0;
  for (int s = 0; s < splits; ++s) sum += part[s * size + i];
  c[i] = sum;
}

extern "C" __global__ void zero_ints(int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 0;
}
extern "C" __global__ void product_int8(const signed char* a, const signed char* b, int* c, int m, int n, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m * n) return;
  int sum = 0;
  for (int j = blockIdx.y; j < k; j += gridDim.y) sum += a[i / n * k + j] * b[j * n + i % n];
  atomicAdd(&c[i], sum);
}

extern "C" __global__ void matrix_times_vector(const float* a, const float* x, float* y, int cols) {
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) sum += a[blockIdx.x * cols + c] * x[c];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[16][17];
  int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  if (row < rows && column < cols) tile[threadIdx.y][threadIdx.x] = x[row * cols + column];
  __syncthreads();
  row = blockIdx.x * 16 + threadIdx.y, column = blockIdx.y * 16 + threadIdx.x;
  if (row < cols && column < rows) y[row * rows + column] = tile[threadIdx.x][threadIdx.y];
}

extern "C" __global__ void stencil(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[10][34];
  const int row = blockIdx.y * 8 - 1, column = blockIdx.x * 32 - 1;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
    const int r = row + i / 34, c = column + i % 34;
    tile[i / 34][i % 34] = r >= 0 && r < rows && c >= 0 && c < cols ? x[r * cols + c] : 0.0f;
  }
  __syncthreads();
  const int i = threadIdx.y + 1, j = threadIdx.x + 1, r = row + i, c = column + j;
  if (r < rows && c < cols) y[r * cols + c] = tile[i][j] - 0.25f * (tile[i - 1][j] + tile[i + 1][j] + tile[i][j - 1] + tile[i][j + 1]);
}

extern "C" __global__ void convolve(const float* x, const float* w, float* y, int n, int taps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int t = 0; t < taps; ++t) {
    const int at = i + t - taps / 2;
    if (at >= 0 && at < n) sum += x[at] * w[t];
  }
  y[i] = sum;
}

// Windows of two by two; what sticks out does not count.
extern "C" __global__ void max_pool(const float* x, float* y, int rows, int cols) {
  const int out = (cols + 1) / 2, i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= (rows + 1) / 2 * out) return;
  float most = -infinity();
  for (int r = i / out * 2; r < min(rows, i / out * 2 + 2); ++r)
    for (int c = i % out * 2; c < min(cols, i % out * 2 + 2); ++c) most = larger(most, x[r * cols + c]);
  y[i] = most;
}

// Index -1 is the last row.
extern "C" __global__ void gather_rows(const float* x, const int* index, float* y, int rows, int cols) {
  const int row = index[blockIdx.x] < 0 ? index[blockIdx.x] + rows : index[blockIdx.x];
  for (int c = threadIdx.x; c < cols; c += 32) y[blockIdx.x * cols + c] = x[row * cols + c];
}

extern "C" __global__ void scatter_add(const int* x, const int* index, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&y[index[i]], x[i]);
}

// Two tiles of 128 floats are on their way while one is used.
extern "C" __global__ void copy_ahead(const float* x, float* y, int tiles) {
  __shared__ alignas(16) float tile[2][128];
  const auto fetch = [&](int at) {
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(&tile[at % 2][4 * threadIdx.x]));
    if (at < tiles) asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + at * 128 + 4 * threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  fetch(0);
  for (int at = 0; at < tiles; ++at) {
    fetch(at + 1);
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    __syncwarp();
    for (int k = threadIdx.x; k < 128; k += 32) y[at * 128 + k] = 2.0f * tile[at % 2][k];
    __syncwarp();
  }
}

// Blocks take turns: a lock that is given back.
extern "C" __global__ void locked_maximum(const int* x, int* lock, volatile int* y, int n) {
  for (int i = blockIdx.x; i < n; i += gridDim.x) {
    while (atomicCAS(lock, 0, 1) != 0) {
    }
    __threadfence();
    if (x[i] > *y) *y = x[i];
    __threadfence();
    atomicExch(lock, 0);
  }
}
extern "C" __global__ void least_int(int* y, int* lock) { *y = -2147483648, *lock = 0; }

// Upper triangle only: blocks below it end at once.
extern "C" __global__ void upper_triangle(const float* x, float* y, int n) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < n && column < n) y[row * n + column] = column >= row ? x[row * n + column] : 0.0f;
}
