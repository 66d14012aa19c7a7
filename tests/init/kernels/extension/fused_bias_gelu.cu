#include <cuda_fp16.h>
// Two halves at a time.
__global__ void fused_bias_gelu(__half2* data, const __half2* bias, int size, int hidden2) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    float2 v = __half22float2(__hadd2(data[i], bias[i % hidden2]));
    v.x *= 1.0f / (1.0f + __expf(-1.702f * v.x));
    v.y *= 1.0f / (1.0f + __expf(-1.702f * v.y));
    data[i] = __floats2half2_rn(v.x, v.y);
  }
}
void bias_gelu(__half2* data, const __half2* bias, int rows, int hidden2) {
  int size = rows * hidden2;
  fused_bias_gelu<<<(size + 255) / 256, 256>>>(data, bias, size, hidden2);
}
