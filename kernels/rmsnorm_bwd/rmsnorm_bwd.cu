// Gradients of y = x * r * weight over each row, with r = 1 / sqrt(mean(x * x) + eps): of g = dy *
// weight, dx = r * (g - x * r * r * mean(g * x)); dweight = the column sums of dy * x * r.
// rmsnorm_bwd has one block per row, any block size, and leaves r of each row in `scales`;
// rmsnorm_bwd_weight has one thread per column, which adds the rows in their order.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void rmsnorm_bwd_body(const T* x, const T* weight, const T* dy, T* dx,
                                 Compute<T>* scales, int rows, int cols, double eps) {
  using C = Compute<T>;
  __shared__ C partial[32];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const C count = static_cast<C>(cols);
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    const T* up = dy + row * cols;
    C squares = 0, products = 0;
    for (int i = thread; i < cols; i += threads) {
      const C value = widen(in[i]);
      squares += value * value;
      products += widen(up[i]) * widen(weight[i]) * value;
    }
    squares = reduce_block<Sum>(squares, partial);
    const C mean = reduce_block<Sum>(products, partial) / count;
    const C scale = C(1) / sqrt(squares / count + static_cast<C>(eps));
    if (thread == 0) scales[row] = scale;
    for (int i = thread; i < cols; i += threads) {
      const C change = widen(up[i]) * widen(weight[i]);
      dx[row * cols + i] = narrow<T>(scale * (change - widen(in[i]) * scale * scale * mean));
    }
  }
}

template <typename T>
__device__ void rmsnorm_bwd_weight_body(const T* x, const T* dy, const Compute<T>* scales,
                                        T* dweight, int rows, int cols) {
  const long long threads = thread_count();
  for (long long col = thread_index(); col < cols; col += threads) {
    Compute<T> total = 0;
    for (long long row = 0; row < rows; ++row) {
      total += widen(dy[row * cols + col]) * widen(x[row * cols + col]) * scales[row];
    }
    dweight[col] = narrow<T>(total);
  }
}

GPUEMU_ENTRIES(rmsnorm_bwd,
               (const T* x, const T* weight, const T* dy, T* dx, Compute<T>* scales, int rows,
                int cols, double eps),
               (x, weight, dy, dx, scales, rows, cols, eps))
GPUEMU_ENTRIES(rmsnorm_bwd_weight,
               (const T* x, const T* dy, const Compute<T>* scales, T* dweight, int rows, int cols),
               (x, dy, scales, dweight, rows, cols))

}  // namespace gpuemu_kernels
