// Copies and fills rows and boxes of pitched memory.
#include <cstring>

#include "program.h"

__global__ void transpose(const char* from, size_t from_pitch, char* to, size_t to_pitch, int width,
                          int height) {
  int x = threadIdx.x, y = threadIdx.y;
  if (x < width && y < height) to[x * to_pitch + y] = from[y * from_pitch + x];
}

int main() {
  const int width = 20, height = 10;
  char *from, *to, host[width * height], back[width * height];
  size_t from_pitch, to_pitch;
  for (int i = 0; i < width * height; ++i) host[i] = static_cast<char>(i);
  CHECK(cudaMallocPitch(&from, &from_pitch, width, height));
  CHECK(cudaMallocPitch(&to, &to_pitch, height, width));
  EXPECT(from_pitch >= width && from_pitch % 256 == 0);
  CHECK(cudaMemset2D(to, to_pitch, 7, height, width));
  CHECK(cudaMemcpy2D(from, from_pitch, host, width, width, height, cudaMemcpyHostToDevice));
  transpose<<<1, dim3(32, 16)>>>(from, from_pitch, to, to_pitch, width, height);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy2D(back, height, to, to_pitch, height, width, cudaMemcpyDeviceToHost));
  for (int i = 0; i < width * height; ++i) {
    EXPECT(back[i % width * height + i / width] == host[i]);
  }
  cudaExtent extent = make_cudaExtent(8, 4, 3);
  cudaPitchedPtr box;
  CHECK(cudaMalloc3D(&box, extent));
  CHECK(cudaMemset3D(box, 9, extent));
  char values[96];
  cudaMemcpy3DParms what = {};
  what.srcPtr = box;
  what.dstPtr = make_cudaPitchedPtr(values, 8, 8, 4);
  what.extent = extent;
  what.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&what));
  for (char one : values) EXPECT(one == 9);
#ifdef FAULTY
  (void)cudaMemset(to, 0, (width + 1) * to_pitch);  // fault
#endif
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  CHECK(cudaFree(box.ptr));
  return passed();
}
