#include "common.h"
__global__ void matmul_bias_kernel(float* out, const float* inp, const float* weight, const float* bias, int BT, int C, int OC) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  int col = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= BT || col >= OC) return;
  float sum = bias != nullptr ? bias[col] : 0.0f;
  for (int c = 0; c < C; c++) sum += inp[row * C + c] * weight[col * C + c];
  out[row * OC + col] = sum;
}
void matmul(float* out, const float* inp, const float* weight, const float* bias, int B, int T, int C, int OC) {
  const int tile = 16;
  dim3 grid(CEIL_DIV(B * T, tile), CEIL_DIV(OC, tile));
  dim3 block(tile, tile);
  matmul_bias_kernel<<<grid, block>>>(out, inp, weight, bias, B * T, C, OC);
}
