extern "C" __global__ void spread(const float* x, float* y, int rows, int cols) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f, squares = 0.0f;
  for (int i = 0; i < cols; ++i) { float v = x[row * cols + i]; sum += v; squares += v * v; }
  float mean = sum / cols;
  y[row] = 1.0f * (squares / cols - mean * mean);
}