// The mathematical functions of CUDA for float, in groups whose every function is an output of its own.
// fast/gpuemu.toml compiles the same text with --use_fast_math.
#define HERE                                              \
  const int i = blockIdx.x * blockDim.x + threadIdx.x;    \
  if (i >= n) return;                                     \
  const float v = x[i]

extern "C" __global__ void exponentials(const float* x, float* e, float* e2, float* e10, float* em1, int n) {
  HERE;
  e[i] = expf(v);
  e2[i] = exp2f(v);
  e10[i] = exp10f(v);
  em1[i] = expm1f(v);
}

extern "C" __global__ void logarithms(const float* x, float* l, float* l2, float* l10, float* l1p, int n) {
  HERE;
  l[i] = logf(v);
  l2[i] = log2f(v);
  l10[i] = log10f(v);
  l1p[i] = log1pf(v);
}

extern "C" __global__ void circles(const float* x, float* s, float* c, float* t, float* sp, float* at, int n) {
  HERE;
  s[i] = sinf(v);
  c[i] = cosf(v);
  t[i] = tanf(v);
  sp[i] = sinpif(v);
  at[i] = atanf(v);
}

extern "C" __global__ void hyperbolas(const float* x, float* sh, float* ch, float* th, float* ash, int n) {
  HERE;
  sh[i] = sinhf(v);
  ch[i] = coshf(v);
  th[i] = tanhf(v);
  ash[i] = asinhf(v);
}

extern "C" __global__ void errors(const float* x, float* er, float* ec, float* cdf, float* g, int n) {
  HERE;
  er[i] = erff(v);
  ec[i] = erfcf(v);
  cdf[i] = normcdff(v);
  g[i] = 0.5f * v * (1.0f + erff(v * 0.70710678f));
}

extern "C" __global__ void gammas(const float* x, float* g, float* lg, int n) {
  HERE;
  g[i] = tgammaf(v);
  lg[i] = lgammaf(v);
}

extern "C" __global__ void powers(const float* x, const float* y, float* p, float* h, float* q, float* cb, float* rc,
                                  int n) {
  HERE;
  const float w = y[i];
  p[i] = powf(v, w);
  h[i] = hypotf(v, w);
  q[i] = v / w;
  cb[i] = cbrtf(v);
  rc[i] = rsqrtf(v) + sqrtf(v);
}

// What needs no accuracy: one or two instructions of the special function unit each.
extern "C" __global__ void intrinsics(const float* x, float* e, float* l, float* s, float* c, float* t, float* d,
                                      int n) {
  HERE;
  e[i] = __expf(v);
  l[i] = __logf(v);
  s[i] = __sinf(v);
  c[i] = __cosf(v);
  asm("tanh.approx.f32 %0, %1;" : "=f"(t[i]) : "f"(v));
  d[i] = __fdividef(1.0f, v);
}

extern "C" __global__ void quick_roots(const float* x, float* r, float* s, float* rs, float* p, int n) {
  HERE;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r[i]) : "f"(v));
  asm("sqrt.approx.f32 %0, %1;" : "=f"(s[i]) : "f"(v));
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(rs[i]) : "f"(v));
  p[i] = __powf(v, 1.75f);
}

extern "C" __global__ void directions(const float* x, const float* y, float* az, float* mu, float* mz, float* sd,
                                      float* fd, int n) {
  HERE;
  const float w = y[i];
  az[i] = __fadd_rz(v, w);
  mu[i] = __fmul_ru(v, w);
  mz[i] = __fmaf_rd(v, w, 1.0f);
  sd[i] = __fsqrt_rd(v * v);
  fd[i] = __fdiv_ru(v, w);
}

extern "C" __global__ void roundings(const float* x, float* near, float* down, float* up, float* cut, float* half,
                                     float* rest, int n) {
  HERE;
  near[i] = rintf(v);
  down[i] = floorf(v);
  up[i] = ceilf(v);
  cut[i] = truncf(v);
  half[i] = roundf(v);
  rest[i] = fmodf(v, 0.7f);
}

// Not fused by the compiler before ptxas: what `contraction` is about.
extern "C" __global__ void unfused(const float* x, const float* y, float* sum, float* difference, int n) {
  HERE;
  const float w = y[i];
  asm("{ .reg .f32 p; mul.f32 p, %1, %2; add.f32 %0, p, %3; }" : "=f"(sum[i]) : "f"(v), "f"(w), "f"(-v));
  asm("{ .reg .f32 p; mul.f32 p, %1, %2; sub.f32 %0, %3, p; }" : "=f"(difference[i]) : "f"(v), "f"(w), "f"(w));
}

// Orbits of the Mandelbrot set: lanes leave the loop one by one, and one bit changes the count, so that every
// product and sum is rounded for itself.
extern "C" __global__ void mandelbrot(const float* x, const float* y, int* steps, float* radius, int n) {
  HERE;
  const float w = y[i];
  float a = 0, b = 0, r = 0;
  int k = 0;
  while (k < 60 && r < 4.0f) {
    const float aa = __fmul_rn(a, a), bb = __fmul_rn(b, b);
    b = __fadd_rn(__fmul_rn(__fadd_rn(a, a), b), w);
    a = __fadd_rn(__fsub_rn(aa, bb), v);
    r = __fadd_rn(__fmul_rn(a, a), __fmul_rn(b, b));
    ++k;
  }
  steps[i] = k;
  radius[i] = r;
}
