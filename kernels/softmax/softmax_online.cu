// Softmax of each row of a rows x cols matrix, reading it once where a row fits into the registers
// of the block, else twice: the sum follows the maximum as it rises. One block per row, any block
// size.
#include "kernels/rows.cuh"

namespace gpuemu_kernels {

/// The largest element so far, and the sum of exp(x - largest).
template <typename C>
struct Running {
  C most = C(-INFINITY);
  C total = C(0);

  __device__ __forceinline__ void add(C x) {
    // exp(-inf - -inf) would be NaN; such an element adds nothing.
    if (x == C(-INFINITY)) return;
    if (x > most || x != x) {
      total = total * exp(most - x) + C(1);
      most = x;
    } else {
      total += exp(x - most);
    }
  }
  /// The sum relative to a maximum that is not below this one's.
  __device__ __forceinline__ C relative_to(C larger) const {
    return total == C(0) ? C(0) : total * exp(most - larger);
  }
};

template <typename T>
__device__ void cached_row(const T* in, T* out, int cols, Compute<T>* partial) {
  using C = Compute<T>;
  CachedRow<T> row(in, cols);
  C most = Max::identity<C>();
  row.visit([&](C x) { most = Max::apply(most, x); });
  most = reduce_block<Max>(most, partial);
  C total = 0;
  row.visit([&](C& x) { total += x = exp(x - most); });
  const C share = C(1) / reduce_block<Sum>(total, partial);
  row.write(out, [&](C x) { return x * share; });
}

template <typename T>
__device__ void long_row(const T* in, T* out, int cols, Compute<T>* partial) {
  using C = Compute<T>;
  Running<C> running;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) running.add(widen(in[i]));
  const C most = reduce_block<Max>(running.most, partial);
  const C total = reduce_block<Sum>(running.relative_to(most), partial);
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    out[i] = narrow<T>(exp(widen(in[i]) - most) / total);
  }
}

template <typename T>
__device__ void softmax_online_body(const T* x, T* y, int rows, int cols) {
  __shared__ Compute<T> partial[32];
  const bool cached = CachedRow<T>::fits(cols, x, y);
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    T* out = y + row * cols;
    if (cached) {
      cached_row(in, out, cols, partial);
    } else {
      long_row(in, out, cols, partial);
    }
  }
}

GPUEMU_ENTRIES(softmax_online, (const T* x, T* y, int rows, int cols), (x, y, rows, cols))

}  // namespace gpuemu_kernels
