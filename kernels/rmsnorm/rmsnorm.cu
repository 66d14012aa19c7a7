// y = x / sqrt(mean(x^2) + eps) * weight over each row. One block per row, any block size; rows
// that fit are kept in registers.
#include "kernels/rows.cuh"

namespace gpuemu_kernels {

/// 1 / the root mean square of a row that `visit` walks. `partial` holds a block's worth of warps.
template <typename C, typename Visit>
__device__ C row_scale(const Visit& visit, int cols, C eps, C* partial) {
  C squares = 0;
  visit([&](C x) { squares += x * x; });
  return C(1) / sqrt(reduce_block<Sum>(squares, partial) / static_cast<C>(cols) + eps);
}

template <typename T>
__device__ void rmsnorm_body(const T* x, const T* weight, T* y, int rows, int cols,
                             Compute<T> eps) {
  using C = Compute<T>;
  __shared__ C partial[32];
  const bool cached = CachedRow<T>::fits(cols, x, weight, y);
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    T* out = y + row * cols;
    if (cached) {
      CachedRow<T> held(in, cols);
      const C scale = row_scale<C>([&](auto f) { held.visit(f); }, cols, eps, partial);
      held.write(out, [&](C value, C gain) { return value * scale * gain; }, weight);
    } else {
      const auto visit = [&](auto f) {
        for (int i = threadIdx.x; i < cols; i += blockDim.x) f(widen(in[i]));
      };
      const C scale = row_scale<C>(visit, cols, eps, partial);
      for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        out[i] = narrow<T>(widen(in[i]) * scale * widen(weight[i]));
      }
    }
  }
}

GPUEMU_ENTRIES(rmsnorm, (const T* x, const T* weight, T* y, int rows, int cols, Compute<T> eps),
               (x, weight, y, rows, cols, eps))

}  // namespace gpuemu_kernels
