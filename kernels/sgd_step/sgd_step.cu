// One step of gradient descent with momentum: velocity = momentum * velocity + g + decay * p, then
// p = p - rate * velocity. The rate is read from device memory, so that a replayed graph sees what
// the host wrote there. The results may lie where p and velocity do. Any one-dimensional grid and
// block.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename T>
__device__ void sgd_step_body(const T* p, const T* g, const T* velocity, const float* rate,
                              T* p_out, T* velocity_out, long long n, Compute<T> momentum,
                              Compute<T> decay) {
  using C = Compute<T>;
  const C step = static_cast<C>(*rate);
  for (long long i = thread_index(); i < n; i += thread_count()) {
    const C value = widen(p[i]);
    const C next = momentum * widen(velocity[i]) + (widen(g[i]) + decay * value);
    velocity_out[i] = narrow<T>(next);
    p_out[i] = narrow<T>(value - step * next);
  }
}

GPUEMU_ENTRIES(sgd_step,
               (const T* p, const T* g, const T* velocity, const float* rate, T* p_out,
                T* velocity_out, long long n, Compute<T> momentum, Compute<T> decay),
               (p, g, velocity, rate, p_out, velocity_out, n, momentum, decay))

}  // namespace gpuemu_kernels
