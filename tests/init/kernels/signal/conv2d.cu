// Valid convolution, NCHW with OIHW weights; one thread for one output.
__global__ void conv2d_forward(const float* input, const float* weight, const float* bias, float* output, int N, int C, int H,
                               int W, int K, int R, int S) {
  const int OH = H - R + 1, OW = W - S + 1;
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= N * K * OH * OW) return;
  const int ow = at % OW, oh = at / OW % OH, k = at / (OW * OH) % K, n = at / (OW * OH * K);
  float sum = bias[k];
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r)
      for (int s = 0; s < S; ++s) sum += input[((n * C + c) * H + oh + r) * W + ow + s] * weight[((k * C + c) * R + r) * S + s];
  output[at] = sum;
}
void conv2d(const float* input, const float* weight, const float* bias, float* output, int N, int C, int H, int W, int K, int R, int S) {
  int total = N * K * (H - R + 1) * (W - S + 1);
  conv2d_forward<<<(total + 255) / 256, 256>>>(input, weight, bias, output, N, C, H, W, K, R, S);
}
