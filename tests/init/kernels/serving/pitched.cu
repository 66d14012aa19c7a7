__global__ void blur_rows(float* dst, const float* src, int width, int height, int pitch) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0.0f;
  for (int k = -2; k <= 2; ++k) sum += src[y * pitch + min(max(x + k, 0), width - 1)];
  dst[y * pitch + x] = sum / 5.0f;
}
