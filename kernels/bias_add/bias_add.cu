// y[r, c] = x[r, c] + bias[c]. Any block of one dimension; grid.x covers the columns, grid.y the
// rows, both in strides.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

struct Plus {
  template <typename C>
  __device__ __forceinline__ C operator()(C a, C b) const {
    return a + b;
  }
};

template <typename T>
__device__ void bias_add_body(const T* x, const T* bias, T* y, long long rows, long long cols) {
  for (long long row = blockIdx.y; row < rows; row += gridDim.y) {
    map_elements(thread_index(), thread_count(), cols, Plus(), y + row * cols, x + row * cols,
                 bias);
  }
}

GPUEMU_ENTRIES(bias_add, (const T* x, const T* bias, T* y, long long rows, long long cols),
               (x, bias, y, rows, cols))

}  // namespace gpuemu_kernels
