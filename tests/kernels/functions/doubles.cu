// The mathematical functions of CUDA for double, whose code is long sequences of fma.rn.f64.
#define HERE                                              \
  const int i = blockIdx.x * blockDim.x + threadIdx.x;    \
  if (i >= n) return;                                     \
  const double v = x[i]

extern "C" __global__ void double_transcendentals(const double* x, double* e, double* s, double* t, double* er,
                                                  double* cb, int n) {
  HERE;
  e[i] = exp(v);
  s[i] = sin(v);
  t[i] = tanh(v);
  er[i] = erf(v);
  cb[i] = cbrt(v);
}

extern "C" __global__ void double_roots(const double* x, const double* y, double* l, double* p, double* q, double* r,
                                        double* rs, int n) {
  HERE;
  const double w = y[i];
  l[i] = log(v);
  p[i] = pow(v, w);
  q[i] = w / v;
  r[i] = sqrt(v);
  rs[i] = rsqrt(v);
}
