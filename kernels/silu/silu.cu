// y = x / (1 + exp(-x)). Any one-dimensional grid and block.
#include "kernels/approx.cuh"
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

// exp of a negative number neither overflows nor loses the left tail; at -infinity the product
// would be NaN.
struct Silu {
  __device__ __forceinline__ float operator()(float x) const {
    const float e = expf(-fabsf(x));
    const float y = x * (x < 0.0f ? e : 1.0f) * chip_reciprocal(1.0f + e);
    return x == -INFINITY ? -0.0f : y;
  }
  __device__ __forceinline__ double operator()(double x) const {
    if (x == -INFINITY) return -0.0;
    const double e = exp(-fabs(x));
    return x * (x < 0.0 ? e : 1.0) / (1.0 + e);
  }
};

template <typename T>
__device__ void silu_body(const T* x, T* y, long long n) {
  map_elements(thread_index(), thread_count(), n, Silu(), y, x);
}

GPUEMU_ENTRIES(silu, (const T* x, T* y, long long n), (x, y, n))

}  // namespace gpuemu_kernels
