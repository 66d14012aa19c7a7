// Pointers that are const themselves, and a filter whose radius the launch says.
__global__ void to_grey(const uchar4* const colours, unsigned char* const grey, int rows, int columns) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= columns || y >= rows) return;
  const uchar4 colour = colours[y * columns + x];
  grey[y * columns + x] = (colour.x + 2 * colour.y + colour.z) / 4;
}

__constant__ float taps[25];

__global__ void filter_with_taps(const float* const in, float* const out, int width, int height, int radius) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int dy = -radius; dy <= radius; ++dy) {
    for (int dx = -radius; dx <= radius; ++dx) {
      const int from_x = min(max(x + dx, 0), width - 1), from_y = min(max(y + dy, 0), height - 1);
      sum += in[from_y * width + from_x] * taps[(dy + radius) * (2 * radius + 1) + dx + radius];
    }
  }
  out[y * width + x] = sum;
}

void run(const float* in, float* out, const float* values, int width, int height) {
  cudaMemcpyToSymbol(taps, values, sizeof(float) * 25);
  dim3 block(16, 16), grid((width + 15) / 16, (height + 15) / 16);
  filter_with_taps<<<grid, block>>>(in, out, width, height, 2);
}
