// The largest of each window; how many windows there are the kernel computes.
__global__ void window_max(const float* in, float* out, int planes, int height, int width, int size, int step) {
  const int rows = (height - size) / step + 1, cols = (width - size) / step + 1;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= planes * rows * cols) return;
  const int x = i % cols, y = i / cols % rows, plane = i / (cols * rows);
  float most = -INFINITY;
  for (int a = 0; a < size; ++a) {
    for (int b = 0; b < size; ++b) most = fmaxf(most, in[(plane * height + y * step + a) * width + x * step + b]);
  }
  out[i] = most;
}
