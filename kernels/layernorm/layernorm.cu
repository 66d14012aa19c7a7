// y = (x - mean) / sqrt(variance + eps) * weight + bias over each row. One block per row, any block
// size. The variance is summed around the mean, not from squares, which cancel.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void layernorm_body(const T* x, const T* weight, const T* bias, T* y, int rows, int cols,
                               float eps) {
  __shared__ float partial[32];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    T* out = y + row * cols;
    float total = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) total += to_float(in[i]);
    const float mean = reduce_block<Sum>(total, partial) / static_cast<float>(cols);
    float squares = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
      const float gap = to_float(in[i]) - mean;
      squares += gap * gap;
    }
    const float variance = reduce_block<Sum>(squares, partial) / static_cast<float>(cols);
    const float scale = 1.0f / sqrtf(variance + eps);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
      out[i] =
          from_float<T>((to_float(in[i]) - mean) * scale * to_float(weight[i]) + to_float(bias[i]));
    }
  }
}

GPUEMU_ENTRIES(layernorm,
               (const T* x, const T* weight, const T* bias, T* y, int rows, int cols, float eps),
               (x, weight, bias, y, rows, cols, eps))

}  // namespace gpuemu_kernels
