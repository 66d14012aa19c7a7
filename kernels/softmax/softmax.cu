// Softmax of each row of a rows x cols matrix. One block per row, any block size.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void softmax_body(const T* x, T* y, int rows, int cols) {
  __shared__ float partial[32];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    T* out = y + row * cols;
    float most = Max::identity();
    for (int i = threadIdx.x; i < cols; i += blockDim.x) most = Max::apply(most, to_float(in[i]));
    most = reduce_block<Max>(most, partial);
    float total = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) total += expf(to_float(in[i]) - most);
    total = reduce_block<Sum>(total, partial);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
      out[i] = from_float<T>(expf(to_float(in[i]) - most) / total);
    }
  }
}

GPUEMU_ENTRIES(softmax, (const T* x, T* y, int rows, int cols), (x, y, rows, cols))

}  // namespace gpuemu_kernels
