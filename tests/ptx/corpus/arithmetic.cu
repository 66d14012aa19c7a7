// Scalar arithmetic: the math library in f32, f64, f16 and bf16, integers, intrinsics, conversions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern "C" __global__ void math_f32(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i], y = in[i + 1];
  float v = sinf(x) + cosf(x) + tanf(x) + expf(x) + exp2f(x) + logf(x) + log2f(x) + log1pf(x) + expm1f(x);
  v += tanhf(x) + sinhf(x) + coshf(x) + asinf(x) + acosf(x) + atanf(x) + atan2f(x, y) + erff(x) + erfcf(x);
  v += powf(x, y) + sqrtf(x) + rsqrtf(x) + cbrtf(x) + hypotf(x, y) + fmodf(x, y) + remainderf(x, y) + lgammaf(x);
  v += floorf(x) + ceilf(x) + truncf(x) + rintf(x) + roundf(x) + copysignf(x, y) + fmaf(x, y, v) + fdimf(x, y);
  v += fmaxf(x, y) + fminf(x, y) + ldexpf(x, 3) + erfinvf(x) + normcdff(x) + j0f(x) + tgammaf(x) + x / y;
  int e;
  v += frexpf(x, &e) + e + ilogbf(x) + logbf(y) + nextafterf(x, y) + isnan(x) + isinf(y) + signbit(x) + isfinite(y);
  v += __fadd_rz(x, y) + __fmul_ru(x, y) + __fmaf_rd(x, y, v) + __fdiv_rz(x, y) + __fsqrt_ru(x) + __frcp_rd(x);
  v += __expf(x) + __logf(x) + __sinf(x) + __cosf(x) + __tanf(x) + __powf(x, y) + __fdividef(x, y) + __saturatef(x);
  out[i] = v + __frsqrt_rn(x) + __log10f(y) + __exp10f(x);
}
extern "C" __global__ void math_f64(const double* in, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double x = in[i], y = in[i + 1];
  double v = sin(x) + cos(x) + tan(x) + exp(x) + log(x) + log1p(x) + expm1(x) + tanh(x) + asin(x) + atan2(x, y);
  v += erf(x) + erfc(x) + pow(x, y) + sqrt(x) + rsqrt(x) + cbrt(x) + hypot(x, y) + fmod(x, y) + lgamma(x) + x / y;
  v += floor(x) + ceil(x) + rint(x) + round(x) + copysign(x, y) + fmax(x, y) + fmin(x, y) + ldexp(x, 3) + 1.0 / x;
  v += __dadd_rz(x, y) + __dmul_ru(x, y) + __fma_rd(x, y, v) + __ddiv_rz(x, y) + __dsqrt_ru(x) + __drcp_rd(x);
  v += __double2int_rn(x) + __double2ll_rz(y) + __double2float_rd(x) + __double2uint_ru(y) + (unsigned long long)x;
  v += __hiloint2double(__double2hiint(x), __double2loint(y)) + __longlong_as_double(__double_as_longlong(x));
  out[i] = v + __ll2double_rn((long long)y) + (float)x + (short)y + (unsigned char)x;
}
extern "C" __global__ void half_math(const __half2* in, __half2* out, const __nv_bfloat162* bin, __nv_bfloat162* bout) {
  const int i = threadIdx.x;
  const __half2 x = in[i], y = in[i + 1];
  __half2 v = __hfma2(x, y, __hadd2(x, y));
  v = __hsub2(v, __hmul2(x, y)), v = __h2div(v, y), v = __hmax2(v, x), v = __hmin2(v, __hneg2(y));
  v = __hadd2_sat(v, x), v = __hfma2_relu(v, x, y), v = h2exp(v), v = h2log(v), v = h2rsqrt(v), v = h2sqrt(v);
  v = h2rcp(v), v = h2sin(v), v = h2floor(v), v = h2rint(v), v = __hge2(v, x), v = __habs2(v), v = h2exp2(v);
  const __half a = __low2half(v), b = __high2half(v);
  const __half c = __hlt(a, b) || __hisnan(a) ? hexp(a) : htanh(b);
  out[i] = __halves2half2(__hfma(a, b, c), __float2half_rz(__half2float(c)));
  out[i] = __hadd2(out[i], __halves2half2(__int2half_rn(__half2int_rz(a)), __ushort2half_rd(__half2ushort_ru(b))));
#if __CUDA_ARCH__ >= 800
  const __nv_bfloat162 p = bin[i], q = bin[i + 1];
  __nv_bfloat162 w = __hfma2(p, q, __hadd2(p, q));
  w = __hsub2(w, __hmul2(p, q)), w = __hmax2(w, p), w = __hmin2(w, __hneg2(q)), w = h2exp(w), w = __habs2(w);
  const float2 f = __bfloat1622float2(w);
  bout[i] = __floats2bfloat162_rn(f.x + float(__hgt(__low2bfloat16(w), __high2bfloat16(w))), f.y);
#endif
}
extern "C" __global__ void integers(const int* in, int* out, const long long* lin, long long* lout) {
  const int i = threadIdx.x;
  const int x = in[i], y = in[i + 1];
  const unsigned u = x, w = y;
  int v = x / y + x % y + int(u / w) + int(u % w) + __mulhi(x, y) + int(__umulhi(u, w)) + __mul24(x, y) + int(__umul24(u, w));
  v += __popc(u) + __clz(x) + __ffs(x) + int(__brev(u)) + int(__byte_perm(u, w, 0x2345)) + int(__funnelshift_r(u, w, 7));
  v += __sad(x, y, 3) + int(__usad(u, w, 4)) + __hadd(x, y) + __rhadd(x, y) + abs(x) + max(x, y) + min(u, w);
  v += __dp4a(x, y, v) + int(__dp4a(u, w, 1u)) + __dp2a_lo(x, y, v) + __dp2a_hi(u, w, 2u) + int(__vadd4(u, w));
  v += int(__vcmpgtu4(u, w)) + int(__vmaxs2(u, w)) + int(__vabsdiffs4(u, w)) + int(__vavgu4(u, w)) + int(__vsetlts2(u, w));
  v += int(__funnelshift_lc(u, w, 33)) + __fns(u, 3, 2) + __vimax3_s32(x, y, v) + __viaddmin_s16x2(u, w, 5u);
  out[i] = v + __float_as_int(__int_as_float(x) * __uint2float_rz(u)) + __float2int_ru(x * 0.5f) + (x << (y & 31)) + (x >> 3);
  const long long a = lin[i], b = lin[i + 1];
  const unsigned __int128 wide = (unsigned __int128)a * b + a;
  lout[i] = a / b + a % b + __mul64hi(a, b) + __popcll(a) + __clzll(a) + __brevll(a) + (long long)(wide >> 64) +
            __double2ll_rn(a * 0.5) + (long long)(float)b + (a << 7) + ((unsigned long long)b >> 9) + llabs(a);
}
extern "C" __global__ void small_types(const signed char* c, const unsigned short* s, short* out, bool* flags) {
  const int i = threadIdx.x;
  const signed char a = c[i], b = c[i + 1];
  const unsigned short u = s[i], w = s[i + 1];
  out[i] = short(a * b + (u > w ? u - w : w - u) + (a >> 1) + (u << 2) + u / (w | 1) + a % (b | 1));
  flags[i] = a > b && u != w;
  const char4 four = reinterpret_cast<const char4*>(c)[i];
  const ushort4 shorts = reinterpret_cast<const ushort4*>(s)[i];
  out[i + 1] = four.x + four.y * four.z - four.w + shorts.x + shorts.w;
}
