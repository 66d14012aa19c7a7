typedef double real;
__global__ void heat_step(const real* from, real* to, int rows, int cols, real alpha) {
  int c = blockIdx.x * blockDim.x + threadIdx.x;
  int r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r >= rows || c >= cols) return;
  int at = r * cols + c;
  real here = from[at];
  real left = c > 0 ? from[at - 1] : here, right = c < cols - 1 ? from[at + 1] : here;
  real up = r > 0 ? from[at - cols] : here, down = r < rows - 1 ? from[at + cols] : here;
  to[at] = here + alpha * (left + right + up + down - 4 * here);
}
