// c = op(a) * op(b), row-major, op being the matrix (0) or its transpose (1). gemm_naive: a thread
// per element, block of up to 16 x 16, grid cdiv(n, 16) x cdiv(m, 16). gemm_tiled: block 256, grid
// cdiv(n, side) x cdiv(m, side) with a side of 128, for f64 of 64.
#include "kernels/gemm_tile.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void gemm_naive_body(const T* a, const T* b, T* c, const GemmShape& shape) {
  const long long row = static_cast<long long>(blockIdx.y) * blockDim.y + threadIdx.y;
  const long long col = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (row >= shape.m || col >= shape.n) return;
  const T* left = a + (shape.a_transposed ? row : row * shape.k);
  const T* right = b + (shape.b_transposed ? col * shape.k : col);
  const long long left_step = shape.a_transposed ? shape.m : 1;
  const long long right_step = shape.b_transposed ? 1 : shape.n;
  Compute<T> total = 0;
  for (int i = 0; i < shape.k; ++i) {
    total = fma(widen(left[i * left_step]), widen(right[i * right_step]), total);
  }
  c[row * shape.n + col] = narrow<T>(total);
}

template <typename T>
__device__ void gemm_tiled_body(const T* a, const T* b, T* c, const GemmShape& shape) {
  gemm_tile<T, sizeof(T) == 8 ? 64 : 128>(a, b, c, shape);
}

#define GPUEMU_GEMM(name, dtype, type)                                                           \
  extern "C" __global__ void name##_##dtype(const type* a, const type* b, type* c, int m, int n, \
                                            int k, int trans_a, int trans_b) {                   \
    name##_body<type>(a, b, c, GemmShape{m, n, k, trans_a != 0, trans_b != 0});                  \
  }

GPUEMU_GEMM(gemm_naive, float32, float)
GPUEMU_GEMM(gemm_naive, float64, double)
GPUEMU_GEMM(gemm_naive, float16, __half)
GPUEMU_GEMM(gemm_naive, bfloat16, __nv_bfloat16)
#undef GPUEMU_GEMM
#define GPUEMU_GEMM(name, dtype, type)                                                        \
  extern "C" __global__ void __launch_bounds__(kGemmThreads, 2) name##_##dtype(               \
      const type* a, const type* b, type* c, int m, int n, int k, int trans_a, int trans_b) { \
    name##_body<type>(a, b, c, GemmShape{m, n, k, trans_a != 0, trans_b != 0});               \
  }
GPUEMU_GEMM(gemm_tiled, float32, float)
GPUEMU_GEMM(gemm_tiled, float64, double)
GPUEMU_GEMM(gemm_tiled, float16, __half)
GPUEMU_GEMM(gemm_tiled, bfloat16, __nv_bfloat16)

}  // namespace gpuemu_kernels
