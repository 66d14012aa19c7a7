// y[i] = a[i] + b[i]. Any one-dimensional grid and block.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

struct Plus {
  template <typename C>
  __device__ __forceinline__ C operator()(C a, C b) const {
    return a + b;
  }
};

template <typename T>
__device__ void vector_add_body(const T* a, const T* b, T* y, int n) {
  map_elements(thread_index(), thread_count(), n, Plus(), y, a, b);
}

GPUEMU_ENTRIES(vector_add, (const T* a, const T* b, T* y, int n), (a, b, y, n))

}  // namespace gpuemu_kernels
