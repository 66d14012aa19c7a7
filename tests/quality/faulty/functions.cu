// Faults of arithmetic: functions, constants, rounding, integers, indices. Correct with -DFIXED.
#include "twins.h"

#define EACH(name, expression)                                                                   \
  extern "C" __global__ void name(const float* x, float* y, int n) {                             \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                         \
    if (i >= n) return;                                                                          \
    const float v = x[i];                                                                        \
    y[i] = expression;                                                                           \
  }

EACH(gelu_constant, 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + WRONG(0.044f, 0.044715f) * v * v * v))))
EACH(gelu_half_lost, WRONG(v, 0.5f * v) * (1.0f + erff(v * 0.70710678f)))
EACH(gelu_variant, WRONG(0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v))), 0.5f * v * (1.0f + erff(v * 0.70710678f))))
EACH(sigmoid_overflow, WRONG(expf(v) / (1.0f + expf(v)), 1.0f / (1.0f + expf(-v))))
EACH(softplus_overflow, WRONG(logf(1.0f + expf(v)), larger(v, 0.0f) + log1pf(expf(-fabsf(v)))))
EACH(exp_minus_one, WRONG(expf(v) - 1.0f, expm1f(v)))
EACH(tanh_clipped, tanhf(WRONG(v > 4.0f ? 4.0f : v < -4.0f ? -4.0f : v, v)))
EACH(relu_loses_nan, WRONG(fmaxf(v, 0.0f), v < 0.0f ? 0.0f : v))

__device__ inline float flushed(float v) {
  float w;
  asm("mul.ftz.f32 %0, %1, 0f40000000;" : "=f"(w) : "f"(v));
  return w;
}
EACH(flushed_product, WRONG(flushed(v), 2.0f * v))

extern "C" __global__ void quantize_truncates(const float* x, signed char* y, int n, float scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = fminf(fmaxf(x[i] / scale, -127.0f), 127.0f);
  y[i] = static_cast<signed char>(WRONG(v, rintf(v)));
}

// To bfloat16 by dropping the lower bits; never wrong by a whole unit in the last place.
extern "C" __global__ void bf16_truncates(const float* x, unsigned short* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned bits = __float_as_uint(x[i]);
  const bool is_nan = x[i] != x[i];
  y[i] = is_nan ? 0x7fff : (bits + WRONG(0u, 0x7fffu + (bits >> 16 & 1))) >> 16;
}

// Beyond 2^31 elements `row * cols` wraps around.
extern "C" __global__ void huge_offset(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    const long long at = WRONG(row * cols + c, static_cast<long long>(row) * cols + c);
    y[at] = 2.0f * x[at];
  }
}

// y[i] = x[i * factor mod n]
extern "C" __global__ void product_wraps(const float* x, float* y, int n, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[WRONG(i * factor, static_cast<long long>(i) * factor) % n];  // FAULT product_wraps
}

extern "C" __global__ void narrow_index(const float* x, float* y, int rows, int cols) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= rows * cols) return;
#ifdef FIXED
  const int row = i / cols;
#else
  const unsigned char row = i / cols;
#endif
  y[row * cols + i % cols] = 2.0f * x[row * cols + i % cols];
}

// floor(x / 4), also below zero
extern "C" __global__ void floor_of_negative(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = WRONG(x[i] / 4, x[i] >> 2);
}

// Index -1 is the last element.
extern "C" __global__ void negative_index(const float* x, const int* index, float* y, int n, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int at = index[i] + WRONG(0, index[i] < 0 ? n : 0);
  y[i] = x[at];  // FAULT negative_index
}

// y[i] = x[i] + x[i - 1]
extern "C" __global__ void unsigned_below_zero(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
#ifdef FIXED
  const int before = i - 1;
#else
  const unsigned before = i - 1;
#endif
  y[i] = before >= 0 ? x[i] + x[before] : x[i];  // FAULT unsigned_below_zero
}

extern "C" __global__ void sum_saturates(const int* a, const int* b, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long sum = static_cast<long long>(a[i]) + b[i];
  const long long kept = sum > 2147483647ll ? 2147483647ll : sum < -2147483648ll ? -2147483648ll : sum;
  y[i] = static_cast<int>(WRONG(sum, kept));
}

// A shift by 32 or more gives 0.
extern "C" __global__ void shift_too_far(const unsigned* x, const int* by, unsigned* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = WRONG(x[i] << (by[i] & 31), by[i] > 31 ? 0u : x[i] << by[i]);
}

__device__ inline unsigned scrambled(unsigned v) {
  v = (v ^ v >> 16) * 0x7feb352du;
  v = (v ^ v >> 15) * 0x846ca68bu;
  return v ^ v >> 16;
}

// Dropout with probability one half; the random number of an element follows from its place.
extern "C" __global__ void stream_per_block(const float* x, float* y, int n, int seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scrambled(WRONG(threadIdx.x, i) + seed) & 1 ? 2.0f * x[i] : 0.0f;
}
extern "C" __global__ void dropout_scale(const float* x, float* y, int n, int seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = scrambled(i + seed) & 1 ? WRONG(x[i], 2.0f * x[i]) : 0.0f;
}

// Beyond 2^32 elements `i` begins anew: the last elements stay as they are.
extern "C" __global__ void huge_unsigned(const float* x, float* y, unsigned rows, unsigned cols) {
  const unsigned block = blockIdx.x * 4 + threadIdx.y;
  if (block >= rows) return;
  for (unsigned c = threadIdx.x; c < cols; c += 32) {
    const unsigned long long at = WRONG(block * cols + c, static_cast<unsigned long long>(block) * cols + c);
    y[at] = 2.0f * x[at];
  }
}

// Offsets in bytes reach 2^32 four times as early.
extern "C" __global__ void huge_bytes(const char* x, char* y, int rows, int cols) {
  const int row = blockIdx.x;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) {
    const long long at = WRONG((row * cols + c) * 4u, (static_cast<long long>(row) * cols + c) * 4);
    *reinterpret_cast<float*>(y + at) = 2.0f * *reinterpret_cast<const float*>(x + at);
  }
}

// y = x + x[0]; where x and y are one array, x[0] is read before and after it was written.
extern "C" __global__ void in_place_first(const float* x, float* y, int n) {
  const int i = threadIdx.x;
#ifdef FIXED
  const float first = x[0], here = i < n ? x[i] : 0.0f;
  __syncthreads();
  if (i < n) y[i] = here + first;
#else
  if (i < n) y[i] = x[i] + x[0];  // FAULT in_place_first
#endif
}
