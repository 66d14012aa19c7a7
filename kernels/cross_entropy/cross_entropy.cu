// cross_entropy: loss[r] = log(sum(exp(x[r]))) - x[r, target[r]]. cross_entropy_grad: dx =
// (softmax(x) - onehot(target)) * dloss[r]. A row whose target is no column is left out: its loss
// and gradient are 0. One block per row in strides, any block size.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

/// A row's maximum, and the sum of exp(x - maximum) over the row.
template <typename C>
struct RowSum {
  C most, total;
};

template <typename T>
__device__ RowSum<Compute<T>> row_sum(const T* x, int cols, Compute<T>* partial) {
  using C = Compute<T>;
  C most = Max::identity<C>();
  for (int i = threadIdx.x; i < cols; i += blockDim.x) most = Max::apply(most, widen(x[i]));
  most = reduce_block<Max>(most, partial);
  C total = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) total += exp(widen(x[i]) - most);
  return {most, reduce_block<Sum>(total, partial)};
}

template <typename T, typename I>
__device__ void losses(const T* x, const I* target, T* loss, int rows, int cols) {
  __shared__ Compute<T> partial[32];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const I wanted = target[row];
    if (wanted < 0 || wanted >= cols) {
      if (threadIdx.x == 0) loss[row] = narrow<T>(Compute<T>(0));
      continue;
    }
    const RowSum<Compute<T>> sum = row_sum(x + row * cols, cols, partial);
    if (threadIdx.x == 0) {
      loss[row] = narrow<T>(log(sum.total) + (sum.most - widen(x[row * cols + wanted])));
    }
  }
}

template <typename T, typename I>
__device__ void gradients(const T* x, const I* target, const T* dloss, T* dx, int rows, int cols) {
  using C = Compute<T>;
  __shared__ C partial[32];
  for (long long row = blockIdx.x; row < rows; row += gridDim.x) {
    const I wanted = target[row];
    const bool counts = wanted >= 0 && wanted < cols;
    const RowSum<C> sum = row_sum(x + row * cols, cols, partial);
    const C scale = widen(dloss[row]);
    for (int i = threadIdx.x; i < cols; i += blockDim.x) {
      const C share = exp(widen(x[row * cols + i]) - sum.most) / sum.total;
      dx[row * cols + i] = narrow<T>(counts ? (share - (i == wanted ? C(1) : C(0))) * scale : C(0));
    }
  }
}

template <typename T>
__device__ void cross_entropy_int32_body(const T* x, const int* target, T* loss, int rows,
                                         int cols) {
  losses(x, target, loss, rows, cols);
}
template <typename T>
__device__ void cross_entropy_int64_body(const T* x, const long long* target, T* loss, int rows,
                                         int cols) {
  losses(x, target, loss, rows, cols);
}
template <typename T>
__device__ void cross_entropy_grad_int32_body(const T* x, const int* target, const T* dloss, T* dx,
                                              int rows, int cols) {
  gradients(x, target, dloss, dx, rows, cols);
}
template <typename T>
__device__ void cross_entropy_grad_int64_body(const T* x, const long long* target, const T* dloss,
                                              T* dx, int rows, int cols) {
  gradients(x, target, dloss, dx, rows, cols);
}

GPUEMU_ENTRIES(cross_entropy_int32, (const T* x, const int* target, T* loss, int rows, int cols),
               (x, target, loss, rows, cols))
GPUEMU_ENTRIES(cross_entropy_int64,
               (const T* x, const long long* target, T* loss, int rows, int cols),
               (x, target, loss, rows, cols))
GPUEMU_ENTRIES(cross_entropy_grad_int32,
               (const T* x, const int* target, const T* dloss, T* dx, int rows, int cols),
               (x, target, dloss, dx, rows, cols))
GPUEMU_ENTRIES(cross_entropy_grad_int64,
               (const T* x, const long long* target, const T* dloss, T* dx, int rows, int cols),
               (x, target, dloss, dx, rows, cols))

}  // namespace gpuemu_kernels
