// Heat in a box: a stencil over three dimensions with an edge that stays as it is, and two buffers
// that change places.
#include <algorithm>

#include "program.h"

__global__ void step(const double* from, double* to, int nx, int ny, int nz) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  int at = (z * ny + y) * nx + x;
#ifdef FAULTY
  bool inside = true;
#else
  bool inside = x > 0 && x < nx - 1 && y > 0 && y < ny - 1 && z > 0 && z < nz - 1;
#endif
  to[at] = !inside ? from[at]
                   : (from[at - 1] + from[at + 1] + from[at - nx] + from[at + nx] +  // fault
                      from[at - nx * ny] + from[at + nx * ny]) / 6;
}

int main() {
  const int nx = 20, ny = 12, nz = 5, n = nx * ny * nz;
  std::vector<double> heat(n, 1.0);
  double *from, *to;
  CHECK(cudaMalloc(&from, n * sizeof(double)));
  CHECK(cudaMalloc(&to, n * sizeof(double)));
  CHECK(cudaMemcpy(from, heat.data(), n * sizeof(double), cudaMemcpyHostToDevice));
  for (int i = 0; i < 6; ++i) {
    step<<<dim3(2, 2, nz), dim3(16, 8)>>>(from, to, nx, ny, nz);
    std::swap(from, to);
  }
#ifdef FAULTY
  (void)cudaDeviceSynchronize();
#endif
  CHECK(cudaMemcpy(heat.data(), from, n * sizeof(double), cudaMemcpyDeviceToHost));
  EXPECT(heat[0] == 1.0 && heat[n / 2] == 1.0);
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  return passed();
}
