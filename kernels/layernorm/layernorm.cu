// y = (x - mean) / sqrt(variance + eps) * weight + bias over each row. One block per row, any block
// size; rows that fit are kept in registers. The variance is summed around the mean, not from
// squares, which cancel.
#include "kernels/rows.cuh"

namespace gpuemu_kernels {

template <typename C>
struct Normalize {
  C mean, scale;
  __device__ __forceinline__ C operator()(C x, C weight, C bias) const {
    return (x - mean) * scale * weight + bias;
  }
};

/// Mean and variance of a row that `visit` walks. `partial` holds a block's worth of warps.
template <typename C, typename Visit>
__device__ Normalize<C> statistics(const Visit& visit, int cols, C eps, C* partial) {
  C total = 0;
  visit([&](C x) { total += x; });
  const C mean = reduce_block<Sum>(total, partial) / static_cast<C>(cols);
  C squares = 0;
  visit([&](C x) { squares += (x - mean) * (x - mean); });
  const C variance = reduce_block<Sum>(squares, partial) / static_cast<C>(cols);
  return {mean, C(1) / sqrt(variance + eps)};
}

template <typename T>
__device__ void layernorm_body(const T* x, const T* weight, const T* bias, T* y, int rows, int cols,
                               Compute<T> eps) {
  using C = Compute<T>;
  __shared__ C partial[32];
  const bool cached = CachedRow<T>::fits(cols, x, weight, bias, y);
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    T* out = y + row * cols;
    if (cached) {
      CachedRow<T> held(in, cols);
      const auto visit = [&](auto f) { held.visit(f); };
      held.write(out, statistics<C>(visit, cols, eps, partial), weight, bias);
    } else {
      const auto visit = [&](auto f) {
        for (int i = threadIdx.x; i < cols; i += blockDim.x) f(widen(in[i]));
      };
      const Normalize<C> normalize = statistics<C>(visit, cols, eps, partial);
      for (int i = threadIdx.x; i < cols; i += blockDim.x) {
        out[i] = narrow<T>(normalize(widen(in[i]), widen(weight[i]), widen(bias[i])));
      }
    }
  }
}

GPUEMU_ENTRIES(layernorm,
               (const T* x, const T* weight, const T* bias, T* y, int rows, int cols,
                Compute<T> eps),
               (x, weight, bias, y, rows, cols, eps))

}  // namespace gpuemu_kernels
