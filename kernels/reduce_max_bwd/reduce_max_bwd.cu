// dx = dy at the first largest element along the axis of x, outer x length x inner, and 0
// elsewhere. A NaN counts as the largest. One block for each place beside the axis, any block size.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

struct First {
  template <typename C>
  static __device__ __forceinline__ C identity() {
    return C(0x7fffffff);
  }
  template <typename C>
  static __device__ __forceinline__ C apply(C a, C b) {
    return a < b ? a : b;
  }
};

template <typename T>
__device__ void reduce_max_bwd_body(const T* x, const T* dy, T* dx, int outer, int length,
                                    int inner) {
  using C = Compute<T>;
  __shared__ C partial[32];
  __shared__ int firsts[32];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  const long long all = static_cast<long long>(outer) * inner;
  for (long long at = blockIdx.x; at < all; at += gridDim.x) {
    const long long begin = at / inner * length * inner + at % inner;
    C most = Max::identity<C>();
    for (int i = thread; i < length; i += threads) {
      most = Max::apply(most, widen(x[begin + static_cast<long long>(i) * inner]));
    }
    most = reduce_block<Max>(most, partial);
    int first = First::identity<int>();
    for (int i = thread; i < length; i += threads) {
      const C value = widen(x[begin + static_cast<long long>(i) * inner]);
      if (value == most || (value != value && most != most)) first = min(first, i);
    }
    first = reduce_block<First>(first, firsts);
    for (int i = thread; i < length; i += threads) {
      dx[begin + static_cast<long long>(i) * inner] = i == first ? dy[at] : narrow<T>(C(0));
    }
  }
}

GPUEMU_ENTRIES(reduce_max_bwd, (const T* x, const T* dy, T* dx, int outer, int length, int inner),
               (x, dy, dx, outer, length, inner))

}  // namespace gpuemu_kernels
