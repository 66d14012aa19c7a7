// y = tanh(x). Any one-dimensional grid and block.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

struct Tanh {
  template <typename C>
  __device__ __forceinline__ C operator()(C x) const {
    return ::tanh(x);
  }
};

template <typename T>
__device__ void tanh_body(const T* x, T* y, long long n) {
  map_elements(thread_index(), thread_count(), n, Tanh(), y, x);
}

GPUEMU_ENTRIES(tanh, (const T* x, T* y, long long n), (x, y, n))

}  // namespace gpuemu_kernels
