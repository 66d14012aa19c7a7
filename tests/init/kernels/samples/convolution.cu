#define RADIUS 4
#define LENGTH (2 * RADIUS + 1)
__constant__ float c_Kernel[LENGTH];
__global__ void convolutionRows(float* dst, const float* src, int imageW, int imageH) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= imageW || y >= imageH) return;
  float sum = 0;
  for (int k = -RADIUS; k <= RADIUS; k++)
    if (x + k >= 0 && x + k < imageW) sum += src[y * imageW + x + k] * c_Kernel[RADIUS - k];
  dst[y * imageW + x] = sum;
}
void setKernel(float* host) { cudaMemcpyToSymbol(c_Kernel, host, LENGTH * sizeof(float)); }
void convolution(float* dst, const float* src, int imageW, int imageH) {
  dim3 threads(32, 4);
  dim3 blocks((imageW + threads.x - 1) / threads.x, (imageH + threads.y - 1) / threads.y);
  convolutionRows<<<blocks, threads>>>(dst, src, imageW, imageH);
}
