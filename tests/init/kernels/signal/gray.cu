__global__ void rgb_to_gray(const uchar3* rgb, unsigned char* gray, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) {
    uchar3 p = rgb[y * width + x];
    gray[y * width + x] = (unsigned char)((p.x * 77 + p.y * 151 + p.z * 28) >> 8);
  }
}
