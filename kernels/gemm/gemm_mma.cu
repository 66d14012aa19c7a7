// c = op(a) * op(b) of f16 and bf16 on tensor cores, summed in float. Block 128 (four warps of 32 x
// 32 elements each), grid cdiv(n, 64) x cdiv(m, 64). From compute capability 8.0 on.
#include <mma.h>

#include "kernels/gemm_tile.cuh"

namespace gpuemu_kernels {

namespace wmma = nvcuda::wmma;

constexpr int kSide = 64;
constexpr int kDepth = 32;
constexpr int kThreads = 128;
constexpr int kTile = 16;

/// Puts rows [row_begin, ...) x columns [col_begin, ...) of a matrix into shared memory, 0 outside
/// of it. `transposed`: stored as columns x rows.
template <typename T, int kRows, int kCols, int kPitch>
__device__ void stage(T (&to)[kRows][kPitch], const T* from, int rows, int cols, bool transposed,
                      int row_begin, int col_begin) {
  for (int i = static_cast<int>(threadIdx.x); i < kRows * kCols; i += kThreads) {
    // Neighbouring threads read neighbouring elements, whichever way the matrix lies.
    const int r = transposed ? i % kRows : i / kCols;
    const int c = transposed ? i / kRows : i % kCols;
    const int row = row_begin + r;
    const int col = col_begin + c;
    const long long at = transposed ? static_cast<long long>(col) * rows + row
                                    : static_cast<long long>(row) * cols + col;
    to[r][c] = row < rows && col < cols ? from[at] : narrow<T>(0.0f);
  }
}

template <typename T>
__device__ void gemm_mma_body(const T* a, const T* b, T* c, const GemmShape& shape) {
  __shared__ alignas(32) T left[kSide][kDepth + 8];
  __shared__ alignas(32) T right[kDepth][kSide + 8];
  __shared__ alignas(32) float out[kSide][kSide + 4];
  const int row_begin = static_cast<int>(blockIdx.y) * kSide;
  const int col_begin = static_cast<int>(blockIdx.x) * kSide;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int warp_row = warp / 2 * 32;
  const int warp_col = warp % 2 * 32;
  wmma::fragment<wmma::accumulator, kTile, kTile, kTile, float> sums[2][2];
  for (auto& row : sums) {
    for (auto& one : row) wmma::fill_fragment(one, 0.0f);
  }
  for (int depth = 0; depth < shape.k; depth += kDepth) {
    stage<T, kSide, kDepth>(left, a, shape.m, shape.k, shape.a_transposed, row_begin, depth);
    stage<T, kDepth, kSide>(right, b, shape.k, shape.n, shape.b_transposed, depth, col_begin);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kDepth; i += kTile) {
      wmma::fragment<wmma::matrix_a, kTile, kTile, kTile, T, wmma::row_major> rows[2];
      wmma::fragment<wmma::matrix_b, kTile, kTile, kTile, T, wmma::row_major> cols[2];
      for (int j = 0; j < 2; ++j) {
        wmma::load_matrix_sync(rows[j], &left[warp_row + j * kTile][i], kDepth + 8);
        wmma::load_matrix_sync(cols[j], &right[i][warp_col + j * kTile], kSide + 8);
      }
      for (int r = 0; r < 2; ++r) {
        for (int s = 0; s < 2; ++s) wmma::mma_sync(sums[r][s], rows[r], cols[s], sums[r][s]);
      }
    }
    __syncthreads();
  }
  for (int r = 0; r < 2; ++r) {
    for (int s = 0; s < 2; ++s) {
      wmma::store_matrix_sync(&out[warp_row + r * kTile][warp_col + s * kTile], sums[r][s],
                              kSide + 4, wmma::mem_row_major);
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < kSide * kSide; i += kThreads) {
    const int row = row_begin + i / kSide;
    const int col = col_begin + i % kSide;
    if (row >= shape.m || col >= shape.n) continue;
    c[static_cast<long long>(row) * shape.n + col] = narrow<T>(out[i / kSide][i % kSide]);
  }
}

extern "C" __global__ void gemm_mma_float16(const __half* a, const __half* b, __half* c, int m,
                                            int n, int k, int trans_a, int trans_b) {
  gemm_mma_body(a, b, c, GemmShape{m, n, k, trans_a != 0, trans_b != 0});
}
#if __CUDA_ARCH__ >= 800  // Tensor cores of sm_75 have no bfloat16.
extern "C" __global__ void gemm_mma_bfloat16(const __nv_bfloat16* a, const __nv_bfloat16* b,
                                             __nv_bfloat16* c, int m, int n, int k, int trans_a,
                                             int trans_b) {
  gemm_mma_body(a, b, c, GemmShape{m, n, k, trans_a != 0, trans_b != 0});
}
#endif

}  // namespace gpuemu_kernels
