#include <cuda_fp16.h>
#include <cstdint>
#define QK 32
typedef struct { __half d; uint8_t qs[QK / 2]; } half_bytes;
typedef void (*dequantize_t)(const void* x, int64_t block, int at, float2& out);
static __device__ __forceinline__ void from_q4(const void* x, int64_t block, int at, float2& out) {
  const half_bytes* blocks = (const half_bytes*)x;
  const float d = __half2float(blocks[block].d);
  const int both = blocks[block].qs[at];
  out.x = ((both & 0xF) - 8) * d;
  out.y = ((both >> 4) - 8) * d;
}
template <int qk, dequantize_t dequantize>
static __global__ void unpack_blocks(const void* __restrict__ vx, float* __restrict__ y, const int64_t k) {
  const int64_t i = 2 * ((int64_t)blockDim.x * blockIdx.x + threadIdx.x);
  if (i >= k) return;
  const int64_t block = i / qk;
  const int at = (i % qk) / 2;
  float2 both;
  dequantize(vx, block, at, both);
  y[i - i % qk + at] = both.x;
  y[i - i % qk + at + qk / 2] = both.y;
}
void unpack(const void* x, float* y, int64_t k, cudaStream_t stream) {
  unpack_blocks<QK, from_q4><<<(k + 511) / 512, 256, 0, stream>>>(x, y, k);
}
