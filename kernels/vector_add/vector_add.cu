// y[i] = a[i] + b[i]. Any one-dimensional grid and block.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void vector_add_body(const T* a, const T* b, T* y, int n) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    y[i] = from_float<T>(to_float(a[i]) + to_float(b[i]));
  }
}

GPUEMU_ENTRIES(vector_add, (const T* a, const T* b, T* y, int n), (a, b, y, n))

}  // namespace gpuemu_kernels
