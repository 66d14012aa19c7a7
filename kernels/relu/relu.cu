// relu: y = x above 0, else 0. relu_bwd: dx = dy where x is above 0, else 0. NaN in x stays NaN,
// and lets the gradient through. Any one-dimensional grid and block.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

struct Relu {
  template <typename C>
  __device__ __forceinline__ C operator()(C x) const {
    return x <= C(0) ? C(0) : x;
  }
};

struct ReluBackward {
  template <typename C>
  __device__ __forceinline__ C operator()(C x, C dy) const {
    return x <= C(0) ? C(0) : dy;
  }
};

template <typename T>
__device__ void relu_body(const T* x, T* y, long long n) {
  map_elements(thread_index(), thread_count(), n, Relu(), y, x);
}

template <typename T>
__device__ void relu_bwd_body(const T* x, const T* dy, T* dx, long long n) {
  map_elements(thread_index(), thread_count(), n, ReluBackward(), dx, x, dy);
}

GPUEMU_ENTRIES(relu, (const T* x, T* y, long long n), (x, y, n))
GPUEMU_ENTRIES(relu_bwd, (const T* x, const T* dy, T* dx, long long n), (x, dy, dx, n))

}  // namespace gpuemu_kernels
