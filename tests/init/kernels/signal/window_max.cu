// The largest of each window of two by two; how many windows there are the kernel computes.
__global__ void window_max(const float* in, float* out, int planes, int height, int width, int step) {
  const int rows = (height - 2) / step + 1, cols = (width - 2) / step + 1;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= planes * rows * cols) return;
  const int x = i % cols, y = i / cols % rows, plane = i / (cols * rows);
  float most = -INFINITY;
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 2; ++b) most = fmaxf(most, in[(plane * height + y * step + a) * width + x * step + b]);
  }
  out[i] = most;
}
