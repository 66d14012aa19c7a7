// Softmax of each row of a rows x cols matrix. One block per row, any block size.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void softmax_body(const T* x, T* y, int rows, int cols) {
  __shared__ Compute<T> partial[32];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const T* in = x + row * cols;
    T* out = y + row * cols;
    Compute<T> most = Max::identity<Compute<T>>();
    for (int i = threadIdx.x; i < cols; i += blockDim.x) most = Max::apply(most, widen(in[i]));
    most = reduce_block<Max>(most, partial);
    Compute<T> total = 0.0f;
    for (int i = threadIdx.x; i < cols; i += blockDim.x) total += exp(widen(in[i]) - most);
    total = reduce_block<Sum>(total, partial);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
      out[i] = narrow<T>(exp(widen(in[i]) - most) / total);
    }
  }
}

GPUEMU_ENTRIES(softmax, (const T* x, T* y, int rows, int cols), (x, y, rows, cols))

}  // namespace gpuemu_kernels
