// Gradients of y = x * w^T + bias, with x m x k, w n x k and dy m x n: dx = dy * w, dw = dy^T * x,
// dbias = the column sums of dy. dx and dw: block 256, grid cdiv(k, side) x cdiv(m or n, side) with
// a side of 64. dbias: any one-dimensional grid and block.
#include "kernels/gemm_tile.cuh"

namespace gpuemu_kernels {

constexpr int kSide = 64;

template <typename T>
__device__ void linear_bwd_dx_body(const T* dy, const T* w, T* dx, int m, int n, int k) {
  gemm_tile<T, kSide>(dy, w, dx, GemmShape{m, k, n, false, false});
}

template <typename T>
__device__ void linear_bwd_dw_body(const T* dy, const T* x, T* dw, int m, int n, int k) {
  gemm_tile<T, kSide>(dy, x, dw, GemmShape{n, k, m, true, false});
}

/// A thread per column: neighbouring threads read neighbouring elements.
template <typename T>
__device__ void linear_bwd_dbias_body(const T* dy, T* dbias, int m, int n) {
  for (long long col = thread_index(); col < n; col += thread_count()) {
    Compute<T> total = 0;
    for (long long row = 0; row < m; ++row) total += widen(dy[row * n + col]);
    dbias[col] = narrow<T>(total);
  }
}

GPUEMU_ENTRIES(linear_bwd_dx, (const T* dy, const T* w, T* dx, int m, int n, int k),
               (dy, w, dx, m, n, k))
GPUEMU_ENTRIES(linear_bwd_dw, (const T* dy, const T* x, T* dw, int m, int n, int k),
               (dy, x, dw, m, n, k))
GPUEMU_ENTRIES(linear_bwd_dbias, (const T* dy, T* dbias, int m, int n), (dy, dbias, m, n))

}  // namespace gpuemu_kernels
