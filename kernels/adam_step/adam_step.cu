// One step of Adam with decoupled weight decay. m = beta1 m + (1 - beta1) g; v = beta2 v + (1 -
// beta2) g^2; p = p - rate (m c1 / (sqrt(v c2) + eps) + decay p). scalars holds rate, c1 = 1 / (1 -
// beta1^t) and c2 = 1 / (1 - beta2^t) in device memory, so that a replayed graph sees what the host
// wrote there. The moments of 16-bit parameters are float; results may lie where p, m and v do. Any
// one-dimensional grid and block.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

template <typename C>
struct AdamNumbers {
  C beta1, beta2, eps, decay;
};

template <typename T>
__device__ void adam_step_body(const T* p, const T* g, const Compute<T>* m, const Compute<T>* v,
                               const float* scalars, T* p_out, Compute<T>* m_out, Compute<T>* v_out,
                               long long n, const AdamNumbers<Compute<T>>& numbers) {
  using C = Compute<T>;
  const C rate = static_cast<C>(scalars[0]);
  const C m_correction = static_cast<C>(scalars[1]);
  const C v_correction = static_cast<C>(scalars[2]);
  const C beta1 = numbers.beta1, beta2 = numbers.beta2;
  for (long long i = thread_index(); i < n; i += thread_count()) {
    const C gradient = widen(g[i]);
    const C value = widen(p[i]);
    const C first = beta1 * m[i] + (C(1) - beta1) * gradient;
    const C second = beta2 * v[i] + (C(1) - beta2) * gradient * gradient;
    m_out[i] = first;
    v_out[i] = second;
    const C step = first * m_correction / (sqrt(second * v_correction) + numbers.eps);
    p_out[i] = narrow<T>(value - rate * (step + numbers.decay * value));
  }
}

GPUEMU_ENTRIES(adam_step,
               (const T* p, const T* g, const Compute<T>* m, const Compute<T>* v,
                const float* scalars, T* p_out, Compute<T>* m_out, Compute<T>* v_out, long long n,
                Compute<T> beta1, Compute<T> beta2, Compute<T> eps, Compute<T> decay),
               (p, g, m, v, scalars, p_out, m_out, v_out, n,
                AdamNumbers<Compute<T>>{beta1, beta2, eps, decay}))

}  // namespace gpuemu_kernels
