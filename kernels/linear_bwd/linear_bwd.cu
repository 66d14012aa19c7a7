// Gradients of y = x * w^T + bias, with x m x k, w n x k and dy m x n: dx = dy * w, dw = dy^T * x,
// dbias = the column sums of dy. small: a thread per element of all three, block 128, grid
// cdiv(m * k + n * k + n, 128). dx and dw: block 256, grid cdiv(k, side) x cdiv(m or n, side) with
// a side of 64. dbias: block 256, grid cdiv(n, 32).
#include "kernels/gemm_tile.cuh"

namespace gpuemu_kernels {

constexpr int kSide = 64;
constexpr int kSumThreads = 256;
constexpr int kSumColumns = 32;

template <typename T>
__device__ void linear_bwd_dx_body(const T* dy, const T* w, T* dx, int m, int n, int k) {
  gemm_tile<T, kSide>(dy, w, dx, GemmShape{m, k, n, false, false});
}

template <typename T>
__device__ void linear_bwd_dw_body(const T* dy, const T* x, T* dw, int m, int n, int k) {
  gemm_tile<T, kSide>(dy, x, dw, GemmShape{n, k, m, true, false});
}

/// A block has up to 32 columns side by side, fewer where there are no more, so that neighbouring
/// threads read neighbouring elements and none is idle; the rows are dealt to the rest of them.
/// Sums are double, as millions of rows make small steps on a large sum, and come in a fixed order.
template <typename T>
__device__ void linear_bwd_dbias_body(const T* dy, T* dbias, int m, int n) {
  __shared__ double sums[kSumThreads];
  int width = kSumColumns;
  while (width / 2 >= n) width /= 2;
  const int thread = static_cast<int>(threadIdx.x);
  const int at = thread % width;
  const long long col = static_cast<long long>(blockIdx.x) * kSumColumns + at;
  double total = 0;
  if (col < n) {
    for (long long row = thread / width; row < m; row += kSumThreads / width) {
      total += static_cast<double>(widen(dy[row * n + col]));
    }
  }
  sums[thread] = total;
  for (int step = kSumThreads / 2; step >= width; step /= 2) {
    __syncthreads();
    if (thread < step) sums[thread] += sums[thread + step];
  }
  if (thread < width && col < n) dbias[col] = narrow<T>(static_cast<Compute<T>>(sums[thread]));
}

/// The sums of dx and dw run in the order of those of a tile, and have the same bits.
template <typename T>
__device__ void linear_bwd_small_body(const T* x, const T* w, const T* dy, T* dx, T* dw, T* dbias,
                                      int m, int n, int k) {
  int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  Compute<T> total = 0;
  if (at < m * k) {
    const int row = at / k, col = at % k;
    for (int i = 0; i < n; ++i) total = fma(widen(dy[row * n + i]), widen(w[i * k + col]), total);
    dx[at] = narrow<T>(total);
    return;
  }
  at -= m * k;
  if (at < n * k) {
    const int row = at / k, col = at % k;
    for (int i = 0; i < m; ++i) total = fma(widen(dy[i * n + row]), widen(x[i * k + col]), total);
    dw[at] = narrow<T>(total);
    return;
  }
  at -= n * k;
  if (at >= n) return;
  double sum = 0;
  for (int i = 0; i < m; ++i) sum += static_cast<double>(widen(dy[i * n + at]));
  dbias[at] = narrow<T>(static_cast<Compute<T>>(sum));
}

GPUEMU_ENTRIES(linear_bwd_small,
               (const T* x, const T* w, const T* dy, T* dx, T* dw, T* dbias, int m, int n, int k),
               (x, w, dy, dx, dw, dbias, m, n, k))
GPUEMU_ENTRIES(linear_bwd_dx, (const T* dy, const T* w, T* dx, int m, int n, int k),
               (dy, w, dx, m, n, k))
GPUEMU_ENTRIES(linear_bwd_dw, (const T* dy, const T* x, T* dw, int m, int n, int k),
               (dy, x, dw, m, n, k))
GPUEMU_ENTRIES(linear_bwd_dbias, (const T* dy, T* dbias, int m, int n), (dy, dbias, m, n))

}  // namespace gpuemu_kernels
