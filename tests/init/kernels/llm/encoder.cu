#include "common.h"
// Token and position embeddings, one thread for one channel.
__global__ void encoder_forward_kernel(floatX* out, const int* inp, const floatX* wte, const floatX* wpe, int B, int T,
                                       int C) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= B * T * C) return;
  int bt = at / C, t = bt % T, c = at % C;
  int token = inp[bt];
  out[at] = (floatX)((float)wte[token * C + c] + (float)wpe[t * C + c]);
}
void encoder_forward(floatX* out, const int* inp, const floatX* wte, const floatX* wpe, int B, int T, int C) {
  const int block_size = 256;
  encoder_forward_kernel<<<CEIL_DIV(B * T * C, block_size), block_size>>>(out, inp, wte, wpe, B, T, C);
}
