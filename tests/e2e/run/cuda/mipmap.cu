// Builds the levels of a picture by surfaces, each from the one above, and reads between levels.
#include "program.h"

__global__ void halve(cudaTextureObject_t above, cudaSurfaceObject_t here, int size) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  // In the middle of four texels the filter gives their mean.
  surf2Dwrite(tex2D<float>(above, (x + 0.5f) / size, (y + 0.5f) / size), here, x * 4, y);
}

__global__ void read(cudaTextureObject_t pyramid, float4* out) {
  float at = (threadIdx.x + 0.5f) / blockDim.x;
  float4 got;
  got.x = tex2DLod<float>(pyramid, at, at, 1);
  got.y = tex2DLod<float>(pyramid, at, at, 2.5f);
  got.z = tex2DLod<float>(pyramid, at, at, 99);
  got.w = tex2DGrad<float>(pyramid, at, at, make_float2(1 / 8.0f, 0), make_float2(0, 1 / 16.0f));  // fault
  out[threadIdx.x] = got;
}

int main() {
  const int size = 32, levels = 6;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t pyramid;
  CHECK(cudaMallocMipmappedArray(&pyramid, &format, make_cudaExtent(size, size, 0), levels, cudaArraySurfaceLoadStore));
  std::vector<std::vector<float>> expected(1, std::vector<float>(size * size));
  for (int i = 0; i < size * size; ++i) expected[0][i] = static_cast<float>((i * 31 + i / size * 17) % 64);
  cudaArray_t top, none;
  CHECK(cudaGetMipmappedArrayLevel(&top, pyramid, 0));
  EXPECT(cudaGetMipmappedArrayLevel(&none, pyramid, levels) == cudaErrorInvalidValue);
  (void)cudaGetLastError();
  CHECK(cudaMemcpy2DToArray(top, 0, 0, expected[0].data(), size * sizeof(float), size * sizeof(float), size,
                            cudaMemcpyHostToDevice));
#ifdef FAULTY
  const int made = 2;
#else
  const int made = levels;
#endif
  for (int level = 1; level < levels; ++level) {
    const int part = size >> level;
    std::vector<float> mean(part * part);
    for (int i = 0; i < part * part; ++i) {
      const std::vector<float>& above = expected.back();
      const int at = i / part * 2 * (2 * part) + i % part * 2;
      mean[i] = (above[at] + above[at + 1] + above[at + 2 * part] + above[at + 2 * part + 1]) / 4;
    }
    expected.push_back(mean);
    if (level >= made) continue;
    cudaResourceDesc above{}, here{};
    above.resType = here.resType = cudaResourceTypeArray;
    CHECK(cudaGetMipmappedArrayLevel(&above.res.array.array, pyramid, level - 1));
    CHECK(cudaGetMipmappedArrayLevel(&here.res.array.array, pyramid, level));
    cudaExtent extent;
    CHECK(cudaArrayGetInfo(nullptr, &extent, nullptr, here.res.array.array));
    EXPECT(extent.width == static_cast<size_t>(part) && extent.height == extent.width);
    cudaTextureDesc how{};
    how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
    how.filterMode = cudaFilterModeLinear;
    how.normalizedCoords = 1;
    cudaTextureObject_t texture;
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateTextureObject(&texture, &above, &how, nullptr));
    CHECK(cudaCreateSurfaceObject(&surface, &here));
    halve<<<dim3(2, 2), dim3(8, 8)>>>(texture, surface, part);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaDestroyTextureObject(texture));
  }
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = pyramid;
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.mipmapFilterMode = cudaFilterModeLinear;
  how.maxMipmapLevelClamp = levels - 1;
  how.normalizedCoords = 1;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  const int threads = 8;
  float4* device;
  std::vector<float4> out(threads);
  CHECK(cudaMalloc(&device, threads * sizeof(float4)));
  read<<<1, threads>>>(texture, device);
  CHECK(cudaMemcpy(out.data(), device, threads * sizeof(float4), cudaMemcpyDeviceToHost));
#ifndef FAULTY
  const auto texel = [&](int level, float at) {
    const int part = size >> level, i = static_cast<int>(at * part);
    return expected[level][i * part + i];
  };
  for (int i = 0; i < threads; ++i) {
    const float at = (i + 0.5f) / threads;
    EXPECT(out[i].x == texel(1, at));
    EXPECT(out[i].y == (texel(2, at) + texel(3, at)) / 2);
    EXPECT(out[i].z == texel(levels - 1, at));
    EXPECT(out[i].w == texel(2, at));  // A step of 4 texels.
  }
#endif
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeMipmappedArray(pyramid));
  CHECK(cudaFree(device));
  return passed();
}
