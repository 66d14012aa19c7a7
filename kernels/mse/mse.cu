// mse: loss = mean((x - target)^2), in two launches: mse_partial with any one-dimensional grid of
// blocks of up to 1024 threads writes a sum per block, mse_total with one block adds them. Sums are
// double, so that squares do not overflow, and come in a fixed order. mse_grad: dx = 2 (x - target)
// / n.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void mse_partial_body(const T* x, const T* target, double* partial, long long n) {
  __shared__ double warps[32];
  double total = 0.0;
  for (long long i = thread_index(); i < n; i += thread_count()) {
    const double gap = static_cast<double>(widen(x[i])) - static_cast<double>(widen(target[i]));
    total += gap * gap;
  }
  total = reduce_block<Sum>(total, warps);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

template <typename T>
__device__ void mse_total_body(const double* partial, T* loss, int blocks, long long n) {
  __shared__ double warps[32];
  double total = 0.0;
  for (int i = static_cast<int>(threadIdx.x); i < blocks; i += static_cast<int>(blockDim.x)) {
    total += partial[i];
  }
  total = reduce_block<Sum>(total, warps) / static_cast<double>(n);
  if (threadIdx.x == 0) *loss = narrow<T>(static_cast<Compute<T>>(total));
}

template <typename C>
struct MseGradient {
  C count;
  __device__ __forceinline__ C operator()(C x, C target) const {
    return C(2) * (x - target) / count;
  }
};

template <typename T>
__device__ void mse_grad_body(const T* x, const T* target, T* dx, long long n) {
  const MseGradient<Compute<T>> gradient{static_cast<Compute<T>>(n)};
  map_elements(thread_index(), thread_count(), n, gradient, dx, x, target);
}

GPUEMU_ENTRIES(mse_partial, (const T* x, const T* target, double* partial, long long n),
               (x, target, partial, n))
GPUEMU_ENTRIES(mse_total, (const double* partial, T* loss, int blocks, long long n),
               (partial, loss, blocks, n))
GPUEMU_ENTRIES(mse_grad, (const T* x, const T* target, T* dx, long long n), (x, target, dx, n))

}  // namespace gpuemu_kernels
