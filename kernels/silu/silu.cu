// y = x / (1 + exp(-x)). Any one-dimensional grid and block.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

struct Silu {
  template <typename C>
  __device__ __forceinline__ C operator()(C x) const {
    if (x == C(-INFINITY)) return C(-0.0f);
    // exp of a negative number: neither overflows nor loses the left tail.
    const C e = exp(-fabs(x));
    return x * (x < C(0) ? e : C(1)) / (C(1) + e);
  }
};

template <typename T>
__device__ void silu_body(const T* x, T* y, long long n) {
  map_elements(thread_index(), thread_count(), n, Silu(), y, x);
}

GPUEMU_ENTRIES(silu, (const T* x, T* y, long long n), (x, y, n))

}  // namespace gpuemu_kernels
