__global__ void maxpool2x2(const float* in, float* out, int channels, int height, int width) {
  const int oh = height / 2, ow = width / 2;
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, c = blockIdx.z;
  if (x >= ow || y >= oh || c >= channels) return;
  const float* p = in + (c * height + 2 * y) * width + 2 * x;
  out[(c * oh + y) * ow + x] = fmaxf(fmaxf(p[0], p[1]), fmaxf(p[width], p[width + 1]));
}
void maxpool(const float* in, float* out, int channels, int height, int width) {
  dim3 block(16, 16), grid((width / 2 + 15) / 16, (height / 2 + 15) / 16, channels);
  maxpool2x2<<<grid, block>>>(in, out, channels, height, width);
}
