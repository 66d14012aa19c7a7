// Writes a picture through a surface and reads it, turned, through a texture of the same array.
#include "program.h"

__global__ void write(cudaSurfaceObject_t surface, const float* picture, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
#ifdef FAULTY
  if (x >= width) return;
  float value = y < height ? picture[y * width + x] : 0;
#else
  if (x >= width || y >= height) return;
  float value = picture[y * width + x];
#endif
  surf2Dwrite(value, surface, x * 4, y, cudaBoundaryModeTrap);  // fault
}

__global__ void transpose(cudaTextureObject_t texture, float* out, int width, int height) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= height || y >= width) return;
  out[y * height + x] = tex2D<float>(texture, y, x);
}

int main() {
  const int width = 30, height = 20;
  std::vector<float> picture(width * height), out(width * height);
  for (int i = 0; i < width * height; ++i) picture[i] = i * 0.25f;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array, plain;
  CHECK(cudaMallocArray(&array, &format, width, height, cudaArraySurfaceLoadStore));
  CHECK(cudaMallocArray(&plain, &format, width, height));
  cudaResourceDesc resource{}, told{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = plain;
  cudaSurfaceObject_t surface;
  // Only arrays that were made for it have surfaces.
  EXPECT(cudaCreateSurfaceObject(&surface, &resource) == cudaErrorInvalidValue);
  (void)cudaGetLastError();
  resource.res.array.array = array;
  CHECK(cudaCreateSurfaceObject(&surface, &resource));
  CHECK(cudaGetSurfaceObjectResourceDesc(&told, surface));
  EXPECT(told.resType == cudaResourceTypeArray && told.res.array.array == array);
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  float *from, *to;
  CHECK(cudaMalloc(&from, picture.size() * sizeof(float)));
  CHECK(cudaMalloc(&to, out.size() * sizeof(float)));
  CHECK(cudaMemcpy(from, picture.data(), picture.size() * sizeof(float), cudaMemcpyHostToDevice));
  write<<<dim3(2, 2), dim3(16, 16)>>>(surface, from, width, height);
  CHECK(cudaGetLastError());
  transpose<<<dim3(2, 2), dim3(16, 16)>>>(texture, to, width, height);
  CHECK(cudaMemcpy(out.data(), to, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) EXPECT(out[x * height + y] == picture[y * width + x]);
  }
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaDestroySurfaceObject(surface));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFreeArray(plain));
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));
  return passed();
}
