// c[m x n] = a[m x k] * b[k x n], row-major, summed in float (f64: double). Block 16 x 16, grid
// cdiv(n, 16) x cdiv(m, 16).
#include "kernels/element.cuh"

namespace gpuemu_kernels {

constexpr int kTile = 16;

template <typename T>
__device__ void matmul_body(const T* a, const T* b, T* c, int m, int n, int k) {
  __shared__ Compute<T> left[kTile][kTile];
  __shared__ Compute<T> right[kTile][kTile + 1];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int col = blockIdx.x * kTile + threadIdx.x;
  Compute<T> total = 0.0f;
  for (int at = 0; at < k; at += kTile) {
    const int across = at + threadIdx.x;
    const int down = at + threadIdx.y;
    left[threadIdx.y][threadIdx.x] =
        row < m && across < k ? widen(a[static_cast<long long>(row) * k + across]) : 0.0f;
    right[threadIdx.y][threadIdx.x] =
        down < k && col < n ? widen(b[static_cast<long long>(down) * n + col]) : 0.0f;
    __syncthreads();
    // Not past k: zeros of the padding times an infinity would make a NaN.
    const int most = min(kTile, k - at);
    for (int i = 0; i < most; ++i) total = fma(left[threadIdx.y][i], right[i][threadIdx.x], total);
    __syncthreads();
  }
  if (row < m && col < n) c[static_cast<long long>(row) * n + col] = narrow<T>(total);
}

GPUEMU_ENTRIES(matmul, (const T* a, const T* b, T* c, int m, int n, int k), (a, b, c, m, n, k))

}  // namespace gpuemu_kernels
