// y = x / sqrt(mean(x^2) + eps) * weight over each row. One block per row, any block size.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void rmsnorm_body(const T* x, const T* weight, T* y, int rows, int cols, float eps) {
  __shared__ Compute<T> partial[32];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    T* out = y + row * cols;
    Compute<T> squares = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
      const Compute<T> value = widen(in[i]);
      squares += value * value;
    }
    const Compute<T> mean = reduce_block<Sum>(squares, partial) / static_cast<Compute<T>>(cols);
    const Compute<T> scale = Compute<T>(1) / sqrt(mean + eps);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
      out[i] = narrow<T>(widen(in[i]) * scale * widen(weight[i]));
    }
  }
}

GPUEMU_ENTRIES(rmsnorm, (const T* x, const T* weight, T* y, int rows, int cols, float eps),
               (x, weight, y, rows, cols, eps))

}  // namespace gpuemu_kernels
