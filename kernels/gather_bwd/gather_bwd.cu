// dx[o, l, i] = the sum of dy[o, j, i] over the places j where index[j] is l, in their order, so
// that the result is the same every time. One thread per element of dx, any one-dimensional grid
// and block.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

struct GatherShape {
  int outer, length, inner, count;
};

template <typename T, typename I>
__device__ void gather_sums(const I* index, const T* dy, T* dx, const GatherShape& shape) {
  const long long all = static_cast<long long>(shape.outer) * shape.length * shape.inner;
  const long long threads = thread_count();
  for (long long at = thread_index(); at < all; at += threads) {
    const long long row = at / shape.inner, col = at - row * shape.inner;
    const long long outer = row / shape.length, place = row - outer * shape.length;
    const T* up = dy + outer * shape.count * shape.inner + col;
    Compute<T> total = 0;
    for (int j = 0; j < shape.count; ++j) {
      if (index[j] == place) total += widen(up[static_cast<long long>(j) * shape.inner]);
    }
    dx[at] = narrow<T>(total);
  }
}

template <typename T>
__device__ void gather_bwd_int32_body(const int* index, const T* dy, T* dx,
                                      const GatherShape& shape) {
  gather_sums(index, dy, dx, shape);
}
template <typename T>
__device__ void gather_bwd_int64_body(const long long* index, const T* dy, T* dx,
                                      const GatherShape& shape) {
  gather_sums(index, dy, dx, shape);
}

GPUEMU_ENTRIES(gather_bwd_int32,
               (const int* index, const T* dy, T* dx, int outer, int length, int inner, int count),
               (index, dy, dx, GatherShape{outer, length, inner, count}))
GPUEMU_ENTRIES(gather_bwd_int64,
               (const long long* index, const T* dy, T* dx, int outer, int length, int inner,
                int count),
               (index, dy, dx, GatherShape{outer, length, inner, count}))

}  // namespace gpuemu_kernels
