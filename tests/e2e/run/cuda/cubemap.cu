// Looks from the middle of a cube at its faces, and of the second of two cubes.
#include "program.h"

/// The direction through pixel (x, y) of a face.
__host__ __device__ float3 direction(int face, int x, int y, int size) {
  float u = (x + 0.5f) / size * 2 - 1, v = (y + 0.5f) / size * 2 - 1;
  switch (face) {
    case 0: return make_float3(1, -v, -u);
    case 1: return make_float3(-1, -v, u);
    case 2: return make_float3(u, 1, v);
    case 3: return make_float3(u, -1, -v);
    case 4: return make_float3(u, -v, 1);
    default: return make_float3(-u, -v, -1);
  }
}

__global__ void look(cudaTextureObject_t cube, cudaTextureObject_t cubes, float2* out, int size) {
  int x = threadIdx.x, y = threadIdx.y, face = blockIdx.x;
  float3 to = direction(face, x, y, size);
  float first = texCubemap<float>(cube, to.x, to.y, to.z);  // fault
  float second = texCubemapLayered<float>(cubes, 3 * to.x, 3 * to.y, 3 * to.z, 1);
  out[(face * size + y) * size + x] = make_float2(first, second);
}

cudaArray_t cubes_of(const std::vector<float>& texels, int size, int faces, int copied, unsigned flags) {
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(size, size, faces), flags));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<float*>(texels.data()), size * sizeof(float), size, size);
  copy.dstArray = array;
  copy.extent = make_cudaExtent(size, size, copied);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  return array;
}

cudaTextureObject_t texture_of(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeWrap;
  how.filterMode = cudaFilterModeLinear;
  how.readMode = cudaReadModeElementType;
  how.normalizedCoords = 1;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

int main() {
  const int size = 16, per_cube = 6 * size * size;
  std::vector<float> texels(2 * per_cube);
  for (size_t i = 0; i < texels.size(); ++i) texels[i] = static_cast<float>(i);
#ifdef FAULTY
  const int copied = 5;
#else
  const int copied = 6;
#endif
  cudaArray_t one = cubes_of(texels, size, 6, copied, cudaArrayCubemap);
  cudaArray_t two = cubes_of(texels, size, 12, 12, cudaArrayCubemap | cudaArrayLayered);
  cudaArray_t wrong;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  EXPECT(cudaMalloc3DArray(&wrong, &format, make_cudaExtent(size, size, 5), cudaArrayCubemap) ==
         cudaErrorInvalidValue);
  (void)cudaGetLastError();
  cudaTextureObject_t cube = texture_of(one), cubes = texture_of(two);
  float2* device;
  std::vector<float2> out(per_cube);
  CHECK(cudaMalloc(&device, out.size() * sizeof(float2)));
  look<<<6, dim3(size, size)>>>(cube, cubes, device, size);
  CHECK(cudaMemcpy(out.data(), device, out.size() * sizeof(float2), cudaMemcpyDeviceToHost));
#ifndef FAULTY
  // The middle of a texel may be off by a 256th of the way to the next row.
  for (int i = 0; i < per_cube; ++i) {
    EXPECT(std::fabs(out[i].x - i) <= (size + 1) / 256.0f);
    EXPECT(std::fabs(out[i].y - (per_cube + i)) <= (size + 1) / 256.0f);
  }
#endif
  for (cudaTextureObject_t texture : {cube, cubes}) CHECK(cudaDestroyTextureObject(texture));
  for (cudaArray_t array : {one, two}) CHECK(cudaFreeArray(array));
  CHECK(cudaFree(device));
  return passed();
}
