// Looks through slices of a volume: a 3D texture of bytes that are read as floats, with filter and
// wrapped coordinates, filled by cudaMemcpy3D.
#include "program.h"

__global__ void look(cudaTextureObject_t volume, float* out, int size, float depth) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  float u = (x + 0.5f) / size, v = (y + 0.5f) / size;
  out[y * size + x] = tex3D<float>(volume, u, v, depth);  // fault
}

int main() {
  const int size = 32;
  std::vector<unsigned char> voxels(size * size * size);
  for (int z = 0; z < size; ++z) {
    for (int i = 0; i < size * size; ++i) voxels[z * size * size + i] = (z * 7 + i % size) % 256;
  }
  cudaChannelFormatDesc format = cudaCreateChannelDesc<unsigned char>();
  cudaArray_t array;
  cudaExtent extent = make_cudaExtent(size, size, size);
  CHECK(cudaMalloc3DArray(&array, &format, extent));
  cudaExtent told;
  CHECK(cudaArrayGetInfo(nullptr, &told, nullptr, array));
  EXPECT(told.width == size && told.height == size && told.depth == size);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(voxels.data(), size, size, size);
  copy.dstArray = array;
  copy.extent = extent;
#ifdef FAULTY
  copy.extent.depth = size / 2;
#endif
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));

  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  how.normalizedCoords = 1;
  how.filterMode = cudaFilterModeLinear;
  how.addressMode[0] = how.addressMode[1] = how.addressMode[2] = cudaAddressModeWrap;
  how.readMode = cudaReadModeNormalizedFloat;
  cudaTextureObject_t volume;
  CHECK(cudaCreateTextureObject(&volume, &resource, &how, nullptr));
  float* device;
  std::vector<float> out(size * size);
  CHECK(cudaMalloc(&device, out.size() * sizeof(float)));
  // In the middle of slice 20, between 20 and 21, and between the last slice and the first.
  for (float at : {20.5f, 21.0f, 32.0f}) {
    look<<<dim3(2, 2), dim3(16, 16)>>>(volume, device, size, at / size);
    CHECK(cudaMemcpy(out.data(), device, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
#ifndef FAULTY
    for (int i = 0; i < size * size; ++i) {
      auto voxel = [&](int z) { return voxels[z % size * size * size + i] / 255.0f; };
      int below = static_cast<int>(at - 0.5f);
      float share = at - 0.5f - below;
      // A filter blends bytes as fractions of 16 bits.
      EXPECT(std::fabs(out[i] - (voxel(below) * (1 - share) + voxel(below + 1) * share)) < 1.0f / 65535);
    }
#endif
  }
  CHECK(cudaDestroyTextureObject(volume));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(device));
  return passed();
}
