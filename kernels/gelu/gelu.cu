// y[i] = x[i] * Phi(x[i]) with the exact normal distribution. Any one-dimensional grid and block.
#include "kernels/approx.cuh"
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

/// Beyond it Phi(-a) is less than half of the least float.
constexpr float kTailEnd = 15.0f;
/// 2^(e + kTailShift) stays normal where 2^e, down to Phi(-kTailEnd), does not.
constexpr float kTailShift = 64.0f;

/// Phi(-a) * 2^64 without a branch, within 6 ulp. REQUIRES: 0 <= a <= kTailEnd, or NaN.
__device__ __forceinline__ float scaled_tail(float a) {
  // exp(-a^2 / 2) = 2^(whole + part). `square` alone would lose the bits that a large exponent
  // needs, and so would its product with one float.
  constexpr float kHalfLog2E = 0.721347511f, kHalfLog2ERest = 9.62981517e-09f;
  constexpr float kRound =
      12582912.0f + kTailShift;  // Adding it leaves the integer in the low bits.
  const float square = __fmul_rn(a, a);
  const float square_rest = fmaf(a, a, -square);
  const float rounded = fmaf(square, -kHalfLog2E, kRound);
  const float whole = rounded - kRound;
  float part = fmaf(square, -kHalfLog2E, -whole);
  part = fmaf(square, -kHalfLog2ERest, part);
  part = fmaf(square_rest, -kHalfLog2E, part);
  const int exponent = __float_as_int(rounded) << 23;
  const float power = __int_as_float(__float_as_int(chip_exp2(part)) + exponent);
  // What is left, Phi(-a) * exp(a^2 / 2), by the rational function of least relative error on
  // [0, 15], which is 6.4e-9 before its coefficients are rounded. Every coefficient is positive:
  // nothing cancels.
  float top = 0.00415319577f;
  top = fmaf(top, a, 0.0408811904f);
  top = fmaf(top, a, 0.183969766f);
  top = fmaf(top, a, 0.43928495f);
  top = fmaf(top, a, 0.5f);
  float bottom = 0.0104104066f;
  bottom = fmaf(bottom, a, 0.102480061f);
  bottom = fmaf(bottom, a, 0.471410215f);
  bottom = fmaf(bottom, a, 1.20555198f);
  bottom = fmaf(bottom, a, 1.6764549f);
  bottom = fmaf(bottom, a, 1.0f);
  return power * (top * chip_reciprocal(bottom));
}

struct Gelu {
  /// x * Phi(x) is x - x * Phi(-x) on the right and -|x| * Phi(-|x|) on the left, where 1 + erf(x)
  /// would cancel.
  __device__ __forceinline__ float operator()(float x) const {
    const float size = fabsf(x);
    const float a = size > kTailEnd ? kTailEnd : size;
    const float line = x >= 0.0f ? x : -0.0f;
    // The scale goes last: it would make small numbers subnormal.
    return fmaf(a * scaled_tail(a), -0x1p-64f, line);
  }
  __device__ __forceinline__ double operator()(double x) const {
    return x == -INFINITY ? -0.0 : x * normcdf(x);
  }
};

template <typename T>
__device__ void gelu_body(const T* x, T* y, int n) {
  map_elements(thread_index(), thread_count(), n, Gelu(), y, x);
}

GPUEMU_ENTRIES(gelu, (const T* x, T* y, int n), (x, y, n))

}  // namespace gpuemu_kernels
