// Gradients of activations: dx = dy times the slope. gelu and silu take x, sigmoid and tanh what
// they gave, y. Any one-dimensional grid and block.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

// Sums of products are fma by name, so that a compiler's contraction changes no bit.

struct GeluBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C x, C dy) const {
    const C density = exp(C(-0.5) * x * x) * C(0.3989422804014327);
    // Where the density is 0, an infinite x times it would be NaN.
    const C reach = density == C(0) ? C(0) : x;
    return dy * fma(reach, density, normal(x));
  }
  static __device__ __forceinline__ float normal(float x) { return normcdff(x); }
  static __device__ __forceinline__ double normal(double x) { return normcdf(x); }
};

struct SiluBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C x, C dy) const {
    // exp of a negative number neither overflows nor loses the left tail.
    const C e = exp(-fabs(x));
    const C share = (x < C(0) ? e : C(1)) / (C(1) + e);
    const C rest = (x < C(0) ? C(1) : e) / (C(1) + e);
    const C reach = e == C(0) ? C(0) : x;
    return dy * (share * fma(reach, rest, C(1)));
  }
};

struct SigmoidBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C y, C dy) const {
    return dy * y * (C(1) - y);
  }
};

struct TanhBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C y, C dy) const {
    return dy * fma(-y, y, C(1));
  }
};

#define GPUEMU_ACTIVATION(name, functor)                                         \
  template <typename T>                                                          \
  __device__ void name##_body(const T* given, const T* dy, T* dx, long long n) { \
    map_elements(thread_index(), thread_count(), n, functor(), dx, given, dy);   \
  }                                                                              \
  GPUEMU_ENTRIES(name, (const T* given, const T* dy, T* dx, long long n), (given, dy, dx, n))

GPUEMU_ACTIVATION(gelu_bwd, GeluBackward)
GPUEMU_ACTIVATION(silu_bwd, SiluBackward)
GPUEMU_ACTIVATION(sigmoid_bwd, SigmoidBackward)
GPUEMU_ACTIVATION(tanh_bwd, TanhBackward)

}  // namespace gpuemu_kernels
