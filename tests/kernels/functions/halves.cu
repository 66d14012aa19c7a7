// Two halves at a time: arithmetic, functions and conversions of float16 and bfloat16.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define HERE                                              \
  const int i = blockIdx.x * blockDim.x + threadIdx.x;    \
  if (i >= n) return

extern "C" __global__ void half_arithmetic(const __half2* x, const __half2* y, __half2* sum, __half2* product,
                                           __half2* fused, __half2* clipped, __half2* quotient, int n) {
  HERE;
  const __half2 a = x[i], b = y[i];
  sum[i] = __hadd2(a, b);
  product[i] = __hmul2(a, b);
  fused[i] = __hfma2(a, b, a);
  clipped[i] = __hfma2_sat(a, b, b);
  quotient[i] = __h2div(a, b);
}

extern "C" __global__ void half_functions(const __half2* x, __half2* e, __half2* l, __half2* s, __half2* r, __half2* q,
                                          __half2* near, int n) {
  HERE;
  const __half2 a = x[i], positive = __habs2(a);
  e[i] = h2exp(a);
  l[i] = h2log(positive);
  s[i] = h2sin(a);
  r[i] = h2rcp(a);
  q[i] = h2sqrt(positive);
  near[i] = h2rint(a);
}

extern "C" __global__ void half_units(const unsigned* x, unsigned* two, unsigned* hyper, unsigned* bhyper, int n) {
  HERE;
  asm("ex2.approx.f16x2 %0, %1;" : "=r"(two[i]) : "r"(x[i]));
  asm("tanh.approx.f16x2 %0, %1;" : "=r"(hyper[i]) : "r"(x[i]));
  asm("tanh.approx.bf16x2 %0, %1;" : "=r"(bhyper[i]) : "r"(x[i]));
}

extern "C" __global__ void bfloat_arithmetic(const __nv_bfloat162* x, const __nv_bfloat162* y, __nv_bfloat162* sum,
                                             __nv_bfloat162* product, __nv_bfloat162* fused, __nv_bfloat162* relu,
                                             __nv_bfloat162* most, int n) {
  HERE;
  const __nv_bfloat162 a = x[i], b = y[i];
  sum[i] = __hadd2(a, b);
  product[i] = __hmul2(a, b);
  fused[i] = __hfma2(a, b, a);
  relu[i] = __hfma2_relu(a, b, b);
  most[i] = __hmax2(__hneg2(a), __habs2(b));
}

// Four floats to four bytes, and back to what is left of them.
extern "C" __global__ void to_fp8(const float4* x, unsigned* e4m3, unsigned* e5m2, float4* back, int n) {
  HERE;
  const float4 v = x[i];
  const auto low = __nv_cvt_float2_to_fp8x2({v.x, v.y}, __NV_SATFINITE, __NV_E4M3);
  const auto high = __nv_cvt_float2_to_fp8x2({v.z, v.w}, __NV_SATFINITE, __NV_E4M3);
  e4m3[i] = low | unsigned(high) << 16;
  e5m2[i] = __nv_cvt_float2_to_fp8x2({v.x, v.y}, __NV_SATFINITE, __NV_E5M2) |
            unsigned(__nv_cvt_float2_to_fp8x2({v.z, v.w}, __NV_SATFINITE, __NV_E5M2)) << 16;
  const __half2 a = __half2(__nv_cvt_fp8x2_to_halfraw2(low, __NV_E4M3));
  const __half2 b = __half2(__nv_cvt_fp8x2_to_halfraw2(high, __NV_E4M3));
  back[i] = {__low2float(a), __high2float(a), __low2float(b), __high2float(b)};
}

extern "C" __global__ void packings(const float2* x, unsigned* h, unsigned* b, unsigned* z, float* tf32, int* whole,
                                    unsigned* bytes, int n) {
  HERE;
  const float2 v = x[i];
  unsigned short_word;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h[i]) : "f"(v.x), "f"(v.y));
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(b[i]) : "f"(v.x), "f"(v.y));
  asm("cvt.rz.f16x2.f32 %0, %1, %2;" : "=r"(z[i]) : "f"(v.x), "f"(v.y));
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(short_word) : "f"(v.x));
  tf32[i] = __uint_as_float(short_word);
  whole[i] = __float2int_rn(v.x);
  bytes[i] = __float2uint_rz(v.y) & 255;
}
