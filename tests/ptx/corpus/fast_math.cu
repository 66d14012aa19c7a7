// What --use_fast_math makes of ordinary code: compiled with that option.
// flags: --use_fast_math
extern "C" __global__ void fast(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i], y = in[i + 1];
  float v = sinf(x) * cosf(y) + expf(x) / y + logf(x) + powf(x, y) + tanf(x) + sqrtf(x) + rsqrtf(y) + tanhf(x);
  v += fmodf(x, y) + erff(x) + floorf(v) + float(int(x)) + (x < y ? fabsf(x) : -y) + fminf(x, y) + exp2f(x) + log2f(y);
  out[i] = v + 1.0f / x + __saturatef(v) + fmaxf(v, 0.0f) + (isnan(v) ? 1.0f : copysignf(x, y));
}
