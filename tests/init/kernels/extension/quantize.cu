#include <stdint.h>
#include <cuda_fp16.h>
// Symmetric int8 with a scale for each row.
__global__ void quantize_rows(const __half* x, int8_t* q, float* scales, int cols) {
  __shared__ float tops[256];
  const __half* row = x + (size_t)blockIdx.x * cols;
  float top = 0.0f;
  for (int c = threadIdx.x; c < cols; c += 256) top = fmaxf(top, fabsf(__half2float(row[c])));
  tops[threadIdx.x] = top;
  __syncthreads();
  for (int s = 128; s > 0; s >>= 1) {
    if (threadIdx.x < s) tops[threadIdx.x] = fmaxf(tops[threadIdx.x], tops[threadIdx.x + s]);
    __syncthreads();
  }
  const float scale = fmaxf(tops[0], 1e-8f) / 127.0f;
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
  for (int c = threadIdx.x; c < cols; c += 256) {
    float v = rintf(__half2float(row[c]) / scale);
    q[(size_t)blockIdx.x * cols + c] = (int8_t)fminf(fmaxf(v, -127.0f), 127.0f);
  }
}
void quantize(const __half* x, int8_t* q, float* scales, int rows, int cols) { quantize_rows<<<rows, 256>>>(x, q, scales, cols); }

#define QK 32
typedef struct { __half d; uint8_t qs[QK / 2]; } block_q4;
static_assert(sizeof(block_q4) == 18, "a block has no padding");
__global__ void dequantize_q4(const block_q4* __restrict__ x, float* __restrict__ y, int nb) {
  const int i = blockIdx.x;
  const int j = threadIdx.x;
  const float d = __half2float(x[i].d);
  y[i * QK + j] = (float)((x[i].qs[j] & 0xf) - 8) * d;
  y[i * QK + j + QK / 2] = (float)((x[i].qs[j] >> 4) - 8) * d;
}
void dequantize(const block_q4* x, float* y, int nb) { dequantize_q4<<<nb, QK / 2>>>(x, y, nb); }
