// One thread per element.
#include "blocks.h"

#define EACH(name, expression)                                          \
  extern "C" __global__ void name(const float* x, float* y, int n) {    \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                \
    if (i >= n) return;                                                 \
    const float v = x[i];                                               \
    y[i] = expression;                                                  \
  }
#define EACH_HALF(name, expression)                                     \
  extern "C" __global__ void name(const __half* x, __half* y, int n) {  \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                \
    if (i >= n) return;                                                 \
    const float v = __half2float(x[i]);                                 \
    y[i] = __float2half(expression);                                    \
  }

EACH(gelu_erf, 0.5f * v * (1.0f + erff(v * 0.70710678f)))
EACH(gelu_tanh, 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))))
EACH(gelu_wrong_constant, 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044f * v * v * v))))
EACH(gelu_other_variant, 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))))
EACH(silu, v / (1.0f + expf(-v)))
EACH(softplus, v > 20.0f ? v : log1pf(expf(v)))
EACH(softplus_naive, logf(1.0f + expf(v)))
EACH(expm1_naive, expf(v) - 1.0f)
EACH(mish, v* tanhf(v > 20.0f ? v : log1pf(expf(v))))
EACH_HALF(gelu_half, 0.5f * v * (1.0f + erff(v * 0.70710678f)))
EACH_HALF(gelu_half_variant, 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))))

extern "C" __global__ void gelu_backward(const float* x, const float* dy, float* dx, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  const float cdf = 0.5f * (1.0f + erff(v * 0.70710678f));
  const float density = 0.39894228f * expf(-0.5f * v * v);
  dx[i] = dy[i] * (cdf + v * density);
}
extern "C" __global__ void gelu_backward_sign(const float* x, const float* dy, float* dx, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  dx[i] = dy[i] * (0.5f * (1.0f + erff(v * 0.70710678f)) + v * 0.3989f * expf(-0.5f * v * v));
}

extern "C" __global__ void silu_backward(const float* x, const float* dy, float* dx, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float s = 1.0f / (1.0f + expf(-x[i]));
  dx[i] = dy[i] * s * (1.0f + x[i] * (1.0f - s));
}

__device__ inline void adamw_step(float* p, const float* g, float* m, float* v, float rate, float decay, int step, int n, float eps, float eps_inside) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float beta1 = 0.9f, beta2 = 0.999f;
  m[i] = beta1 * m[i] + (1.0f - beta1) * g[i];
  v[i] = beta2 * v[i] + (1.0f - beta2) * g[i] * g[i];
  const float first = m[i] / (1.0f - powf(beta1, static_cast<float>(step)));
  const float second = v[i] / (1.0f - powf(beta2, static_cast<float>(step)));
  p[i] = p[i] - rate * (first / (sqrtf(second + eps_inside) + eps) + decay * p[i]);
}
extern "C" __global__ void adamw(float* p, const float* g, float* m, float* v, float rate, float decay, int step, int n) {
  adamw_step(p, g, m, v, rate, decay, step, n, 1e-8f, 0.0f);
}
extern "C" __global__ void adamw_eps_inside(float* p, const float* g, float* m, float* v, float rate, float decay, int step, int n) {
  adamw_step(p, g, m, v, rate, decay, step, n, 0.0f, 1e-8f);
}

// Pairs of elements at distance depth / 2 turned by an angle of their position.
extern "C" __global__ void rope(const float* x, const float* angles, float* y, int depth) {
  const int row = blockIdx.x, half = depth / 2;
  for (int i = threadIdx.x; i < half; i += blockDim.x) {
    float s, c;
    sincosf(angles[row * half + i], &s, &c);
    const float a = x[row * depth + i], b = x[row * depth + half + i];
    y[row * depth + i] = a * c - b * s;
    y[row * depth + half + i] = b * c + a * s;
  }
}

extern "C" __global__ void mean_squared_error(const float* x, const float* target, float* y, int n) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += kThreads) sum += (x[i] - target[i]) * (x[i] - target[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) *y = sum / n;
}

extern "C" __global__ void cosine_similarity(const float* a, const float* b, float* y, int cols) {
  float dot = 0.0f, left = 0.0f, right = 0.0f;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float u = a[blockIdx.x * cols + i], v = b[blockIdx.x * cols + i];
    dot += u * v;
    left += u * u;
    right += v * v;
  }
  dot = block_sum(dot);
  left = block_sum(left);
  right = block_sum(right);
  if (threadIdx.x == 0) y[blockIdx.x] = dot / larger(sqrtf(left) * sqrtf(right), 1e-8f);
}
