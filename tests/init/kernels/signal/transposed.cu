// A transposed convolution that gathers: how far it reads depends on sizes that its input does not have.
__global__ void conv_transposed(const float* input, const float* weight, const float* bias, float* output, int N, int channels_in,
                                int H, int W, int channels_out, int K, int step, int pad, int out_h, int out_w) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N * channels_out * out_h * out_w) return;
  int col = i % out_w, row = i / out_w % out_h, co = i / (out_w * out_h) % channels_out, n = i / (out_w * out_h * channels_out);
  float sum = bias[co];
  for (int ci = 0; ci < channels_in; ++ci) {
    for (int kh = 0; kh < K; ++kh) {
      for (int kw = 0; kw < K; ++kw) {
        int h = row + pad - kh, w = col + pad - kw;
        if (h % step || w % step) continue;
        h /= step;
        w /= step;
        if (h < 0 || h >= H || w < 0 || w >= W) continue;
        sum += input[((n * channels_in + ci) * H + h) * W + w] * weight[((ci * channels_out + co) * K + kh) * K + kw];
      }
    }
  }
  output[i] = sum;
}
