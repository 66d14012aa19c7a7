#include "common.h"
template <typename Tp, typename Tg>
__global__ void adamw_kernel(Tp* params, const Tg* grads, float* m, float* v, size_t count, float lr, float beta1,
                             float beta2, float correction1, float correction2, float eps, float decay) {
  size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float g = (float)grads[i];
  float first = m[i] = beta1 * m[i] + (1.0f - beta1) * g;
  float second = v[i] = beta2 * v[i] + (1.0f - beta2) * g * g;
  float p = (float)params[i];
  params[i] = (Tp)(p - lr * (first / correction1 / (sqrtf(fabsf(second) / correction2) + eps) + decay * p));
}
void adamw(floatX* params, const floatX* grads, float* m, float* v, size_t count, float lr) {
  int block_size = 512;
  adamw_kernel<floatX, floatX><<<CEIL_DIV(count, block_size), block_size>>>(params, grads, m, v, count, lr, 0.9f, 0.95f, 0.1f, 0.05f, 1e-8f, 0.0f);
}
