// Functions of single elements, vectors with tails, updates in place. All of them are right.
#include "warp.h"

#define EACH(name, expression)                                                                     \
  extern "C" __global__ void name(const float* x, float* y, int n) {                               \
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {      \
      const float v = x[i];                                                                        \
      y[i] = expression;                                                                           \
    }                                                                                              \
  }

EACH(gelu, 0.5f * v * (1.0f + erff(v * 0.70710678f)))
EACH(silu, v / (1.0f + expf(-v)))
EACH(sigmoid, v >= 0 ? 1.0f / (1.0f + expf(-v)) : expf(v) / (1.0f + expf(v)))
EACH(softplus, larger(v, 0.0f) + log1pf(expf(-fabsf(v))))
EACH(elu, v > 0 ? v : expm1f(v))
EACH(relu, v < 0 ? 0.0f : v)
EACH(leaky_relu, v < 0 ? 0.01f * v : v)
EACH(clamp, v < -1.0f ? -1.0f : v > 1.0f ? 1.0f : v)
EACH(hard_tanh_square, (v < 0 ? 0.0f : v) * (v < 0 ? 0.0f : v))
EACH(hyperbolic_tangent, tanhf(v))
EACH(sign, v != v ? v : static_cast<float>((v > 0) - (v < 0)))

extern "C" __global__ void scale_vectors(const float* x, float* y, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(y)[i] = make_float4(2 * v.x, 2 * v.y, 2 * v.z, 2 * v.w);
  }
  if (blockIdx.x == 0 && threadIdx.x < n % 4) y[n / 4 * 4 + threadIdx.x] = 2.0f * x[n / 4 * 4 + threadIdx.x];
}

// Single elements until both addresses fit a vector, when they ever do.
extern "C" __global__ void add_aligned(const float* a, const float* b, float* y, int n) {
  const auto low = [](const float* p) { return static_cast<int>(reinterpret_cast<unsigned long long>(p) % 16 / 4); };
  const bool together = low(a) == low(b) && low(a) == low(y);
  const int head = together ? min(n, (4 - low(a)) % 4) : n, whole = (n - head) / 4;
  const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
  for (int i = first; i < head; i += step) y[i] = a[i] + b[i];
  for (int i = first; i < whole; i += step) {
    const float4 u = reinterpret_cast<const float4*>(a + head)[i], v = reinterpret_cast<const float4*>(b + head)[i];
    reinterpret_cast<float4*>(y + head)[i] = make_float4(u.x + v.x, u.y + v.y, u.z + v.z, u.w + v.w);
  }
  for (int i = head + whole * 4 + first; i < n; i += step) y[i] = a[i] + b[i];
}

extern "C" __global__ void swiglu(const float* x, const float* gate, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = gate[i] / (1.0f + expf(-gate[i])) * x[i];
}

extern "C" __global__ void rotate_pairs(const float* x, const float* angle, float* y, int pairs) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  float sine, cosine;
  sincosf(angle[i], &sine, &cosine);
  y[2 * i] = x[2 * i] * cosine - x[2 * i + 1] * sine;
  y[2 * i + 1] = x[2 * i] * sine + x[2 * i + 1] * cosine;
}

extern "C" __global__ void momentum_step(const float* g, float* m, float* w, int n, float rate) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = 0.5f * m[i] + g[i];
  w[i] -= rate * m[i];
}

// What is rounded to nothing in m comes back 1e8 times as large where v is small.
extern "C" __global__ void adam_step(const float* g, float* m, float* v, float* w, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  m[i] = 0.875f * m[i] + 0.125f * g[i];
  v[i] = 0.96875f * v[i] + 0.03125f * g[i] * g[i];
  w[i] -= 0.01f * m[i] / (sqrtf(v[i]) + 1e-8f);
}

// A NaN in a row is one in its scale, and anything in its integers.
extern "C" __global__ void quantize_rows(const float* x, signed char* q, float* scale, int cols) {
  x += blockIdx.x * cols, q += blockIdx.x * cols;
  float most = 1e-8f;
  for (int c = threadIdx.x; c < cols; c += 32) most = larger(fabsf(x[c]), most);
  for (int step = 16; step > 0; step /= 2) most = larger(most, __shfl_xor_sync(kAll, most, step));
  if (threadIdx.x == 0) scale[blockIdx.x] = most / 127.0f;
  for (int c = threadIdx.x; c < cols; c += 32) q[c] = static_cast<signed char>(static_cast<int>(rintf(x[c] / (most / 127.0f))));
}

// Comparisons with a NaN are false: it says nothing about the others.
extern "C" __global__ void top_one(const float* x, float* y, int* index, int cols) {
  x += blockIdx.x * cols;
  float best = x[0];
  int at = 0;
  for (int c = threadIdx.x; c < cols; c += 32)
    if (x[c] > best) best = x[c], at = c;
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_xor_sync(kAll, best, step);
    const int where = __shfl_xor_sync(kAll, at, step);
    if (other > best || (other == best && where < at)) best = other, at = where;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = best, index[blockIdx.x] = at;
}

extern "C" __global__ void select_elements(const int* keep, const float* a, const float* b, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = keep[i] ? a[i] : b[i];
}

extern "C" __global__ void quantize(const float* x, signed char* y, int n, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = static_cast<signed char>(rintf(fminf(fmaxf(x[i] / scale, -127.0f), 127.0f)));
}

extern "C" __global__ void multiply_complex(const float2* a, const float2* b, float2* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = make_float2(a[i].x * b[i].x - a[i].y * b[i].y, a[i].x * b[i].y + a[i].y * b[i].x);
}

extern "C" __global__ void hash_dropout(const float* x, float* y, int n, int seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = i + seed;
  v = (v ^ v >> 16) * 0x7feb352du;
  v = (v ^ v >> 15) * 0x846ca68bu;
  y[i] = (v ^ v >> 16) & 1 ? 2.0f * x[i] : 0.0f;
}

extern "C" __global__ void divide_floor(const int* a, const int* b, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int quotient = a[i] / b[i];
  y[i] = a[i] % b[i] != 0 && (a[i] < 0) != (b[i] < 0) ? quotient - 1 : quotient;
}

// The rows of x may be farther apart than they are long, and its columns too.
extern "C" __global__ void strided_negate(const float* x, long long row_stride, long long col_stride, float* y, int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i] = -x[i / cols * row_stride + i % cols * col_stride];
}

extern "C" __global__ void rows_plus_row(const float* x, const float* row, float* y, int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < rows * cols) y[i] = x[i] + row[i % cols];
}

extern "C" __global__ void float_to_bfloat(const float* x, unsigned short* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned bits = __float_as_uint(x[i]);
  y[i] = x[i] != x[i] ? 0x7fff : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
}

// Indices of 64 bits, so that tensors of any size are right; blocks take what the grid leaves.
extern "C" __global__ void negate_stride(const float* x, float* y, long long n) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step) y[i] = -x[i];
}

// Each thread goes over its elements twice.
extern "C" __global__ void negate_twice(const float* x, float* y, long long n) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (long long i = first; i < n; i += step) y[i] = x[i];
  for (long long i = first; i < n; i += step) y[i] = -y[i];
}

// The last block begins.
extern "C" __global__ void negate_backwards(const float* x, float* y, int rows, int cols) {
  const long long row = static_cast<long long>(rows) - 1 - blockIdx.x;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[row * cols + c] = -x[row * cols + c];
}

// Blocks take rows in the order in which they come.
extern "C" __global__ void negate_tickets(const float* x, float* y, unsigned* next, int cols) {
  __shared__ unsigned row;
  if (threadIdx.x == 0) row = atomicAdd(next, 1u);
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += blockDim.x) y[static_cast<long long>(row) * cols + c] = -x[static_cast<long long>(row) * cols + c];
}

extern "C" __global__ void no_tickets(unsigned* next) { *next = 0; }
