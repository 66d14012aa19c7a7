__global__ void mandelbrot(uchar4* dst, const int imageW, const int imageH, const int crunch, const float xOff, const float yOff, const float scale) {
  const int ix = blockDim.x * blockIdx.x + threadIdx.x, iy = blockDim.y * blockIdx.y + threadIdx.y;
  if (ix >= imageW || iy >= imageH) return;
  const float x0 = (ix - imageW / 2) * scale + xOff, y0 = (iy - imageH / 2) * scale + yOff;
  float x = 0, y = 0;
  int i = 0;
  while (i < crunch && x * x + y * y < 4.0f) { float next = x * x - y * y + x0; y = 2 * x * y + y0; x = next; ++i; }
  dst[iy * imageW + ix] = make_uchar4(i * 3, i * 5, i * 7, 255);
}
