// y[i] = x[i] * Phi(x[i]) with the exact normal distribution. Any one-dimensional grid and block.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void gelu_body(const T* x, T* y, int n) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n;
       i += step) {
    const float value = to_float(x[i]);
    // normcdff keeps its relative precision in the left tail, where 1 + erf(x) cancels.
    const float out = value == -INFINITY ? -0.0f : value * normcdff(value);
    y[i] = from_float<T>(out);
  }
}

GPUEMU_ENTRIES(gelu, (const T* x, T* y, int n), (x, y, n))

}  // namespace gpuemu_kernels
