// y = x / sqrt(mean(x^2) + eps) * weight over each row. One block per row, any block size.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void rmsnorm_body(const T* x, const T* weight, T* y, int rows, int cols, float eps) {
  __shared__ float partial[32];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    T* out = y + row * cols;
    float squares = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
      const float value = to_float(in[i]);
      squares += value * value;
    }
    const float mean = reduce_block<Sum>(squares, partial) / static_cast<float>(cols);
    const float scale = 1.0f / sqrtf(mean + eps);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
      out[i] = from_float<T>(to_float(in[i]) * scale * to_float(weight[i]));
    }
  }
}

GPUEMU_ENTRIES(rmsnorm, (const T* x, const T* weight, T* y, int rows, int cols, float eps),
               (x, weight, y, rows, cols, eps))

}  // namespace gpuemu_kernels
