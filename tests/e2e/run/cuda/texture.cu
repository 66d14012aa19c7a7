// Turns a picture around its middle through a texture of an array, with linear filter and borders.
#include "program.h"

__global__ void turn(cudaTextureObject_t picture, float* out, int width, int height, float angle) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = x / (float)width - 0.5f, v = y / (float)height - 0.5f;
  float tu = u * cosf(angle) - v * sinf(angle) + 0.5f;
  float tv = v * cosf(angle) + u * sinf(angle) + 0.5f;
  out[y * width + x] = tex2D<float>(picture, tu + 0.5f / width, tv + 0.5f / height);  // fault
}

int main() {
  const int width = 40, height = 24;
  std::vector<float> picture(width * height), out(width * height);
  for (int i = 0; i < width * height; ++i) picture[i] = i % 7;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>(), known;
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, width, height));
  cudaExtent extent;
  unsigned flags;
  CHECK(cudaArrayGetInfo(&known, &extent, &flags, array));
  EXPECT(known.x == 32 && known.y == 0 && extent.width == width && extent.height == height);
  CHECK(cudaMemcpy2DToArray(array, 0, 0, picture.data(), width * sizeof(float),
                            width * sizeof(float), height, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeWrap;
  how.filterMode = cudaFilterModeLinear;
  how.readMode = cudaReadModeElementType;
  how.normalizedCoords = 1;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  cudaTextureDesc told{};
  CHECK(cudaGetTextureObjectTextureDesc(&told, texture));
  EXPECT(told.normalizedCoords == 1 && told.filterMode == cudaFilterModeLinear);
  float* device;
  CHECK(cudaMalloc(&device, out.size() * sizeof(float)));
#ifdef FAULTY
  CHECK(cudaFreeArray(array));
#endif
  turn<<<dim3(3, 3), dim3(16, 8)>>>(texture, device, width, height, 0);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(out.data(), device, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (int i = 0; i < width * height; ++i) EXPECT(std::fabs(out[i] - picture[i]) < 0.01f);
  std::vector<float> back(width);
  CHECK(cudaMemcpy2DFromArray(back.data(), width * sizeof(float), array, 0, 3,
                              width * sizeof(float), 1, cudaMemcpyDeviceToHost));
  for (int x = 0; x < width; ++x) EXPECT(back[x] == picture[3 * width + x]);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(device));
  return passed();
}
