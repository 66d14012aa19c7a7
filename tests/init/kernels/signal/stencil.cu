#define BX 32
#define BY 4
__global__ void stencil7(const float* __restrict__ a0, float* __restrict__ anext, float c0, float c1, int nx, int ny, int nz) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int j = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (i >= nx - 1 || j >= ny - 1) return;
  for (int k = 1; k < nz - 1; ++k) {
    const int at = (k * ny + j) * nx + i;
    anext[at] = c1 * (a0[at - 1] + a0[at + 1] + a0[at - nx] + a0[at + nx] + a0[at - nx * ny] + a0[at + nx * ny]) - c0 * a0[at];
  }
}
void run(const float* a0, float* anext, int nx, int ny, int nz) {
  dim3 block(BX, BY, 1);
  dim3 grid((nx - 2 + BX - 1) / BX, (ny - 2 + BY - 1) / BY, 1);
  stencil7<<<grid, block>>>(a0, anext, 0.5f, 0.1f, nx, ny, nz);
}
