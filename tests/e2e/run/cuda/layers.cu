// Changes layers of pictures and of lines, which no filter mixes, and copies layers between arrays.
#include "program.h"

__global__ void negate(cudaTextureObject_t pictures, float* out, int size, int layer) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= size || y >= size) return;
  float u = (x + 0.5f) / size, v = (y + 0.5f) / size;
#ifdef FAULTY
  float value = tex2D<float>(pictures, u, v);  // fault
#else
  float value = tex2DLayered<float>(pictures, u, v, layer);
#endif
  out[(layer * size + y) * size + x] = layer - value;
}

__global__ void read_lines(cudaTextureObject_t lines, float2* out, int width, int count) {
  int i = threadIdx.x;
  if (i >= width * count) return;
  out[i] = tex1DLayered<float2>(lines, i % width + 0.5f, i / width);
}

cudaArray_t layers_of(cudaChannelFormatDesc format, cudaExtent extent, const void* from, size_t row) {
  cudaArray_t array;
  CHECK(cudaMalloc3DArray(&array, &format, extent, cudaArrayLayered));
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<void*>(from), row, extent.width, std::max<size_t>(1, extent.height));
  copy.dstArray = array;
  copy.extent = make_cudaExtent(extent.width, std::max<size_t>(1, extent.height), extent.depth);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  return array;
}

cudaTextureObject_t texture_of(cudaArray_t array, cudaTextureFilterMode filter, int normalized) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = normalized ? cudaAddressModeWrap : cudaAddressModeClamp;
  how.filterMode = filter;
  how.readMode = cudaReadModeElementType;
  how.normalizedCoords = normalized;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

int main() {
  const int size = 24, count = 5, width = 12;
  std::vector<float> pictures(size * size * count);
  for (size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<float>(i);
  cudaArray_t array = layers_of(cudaCreateChannelDesc<float>(), make_cudaExtent(size, size, count),
                                pictures.data(), size * sizeof(float));
  unsigned flags;
  CHECK(cudaArrayGetInfo(nullptr, nullptr, &flags, array));
  EXPECT(flags == cudaArrayLayered);
  cudaTextureObject_t texture = texture_of(array, cudaFilterModeLinear, 1);
  float* device;
  std::vector<float> out(pictures.size());
  CHECK(cudaMalloc(&device, out.size() * sizeof(float)));
  for (int layer = 0; layer < count; ++layer) {
    negate<<<dim3(3, 3), dim3(8, 8)>>>(texture, device, size, layer);
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(out.data(), device, out.size() * sizeof(float), cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < out.size(); ++i) EXPECT(out[i] == i / (size * size) - pictures[i]);

  // One layer to another array, and back to the host.
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t plane;
  CHECK(cudaMallocArray(&plane, &format, size, size));
  cudaMemcpy3DParms copy{};
  copy.srcArray = array;
  copy.srcPos = make_cudaPos(0, 0, 3);
  copy.dstArray = plane;
  copy.extent = make_cudaExtent(size, size, 1);
  copy.kind = cudaMemcpyDeviceToDevice;
  CHECK(cudaMemcpy3D(&copy));
  std::vector<float> back(size * size);
  CHECK(cudaMemcpy2DFromArray(back.data(), size * sizeof(float), plane, 0, 0, size * sizeof(float),
                              size, cudaMemcpyDeviceToHost));
  for (int i = 0; i < size * size; ++i) EXPECT(back[i] == pictures[3 * size * size + i]);

  std::vector<float2> rows(width * 2), got(width * 2);
  for (int i = 0; i < width * 2; ++i) rows[i] = make_float2(i, -i);
  cudaArray_t line = layers_of(cudaCreateChannelDesc<float2>(), make_cudaExtent(width, 0, 2),
                               rows.data(), width * sizeof(float2));
  cudaTextureObject_t lines = texture_of(line, cudaFilterModePoint, 0);
  float2* on_device;
  CHECK(cudaMalloc(&on_device, got.size() * sizeof(float2)));
  read_lines<<<1, 32>>>(lines, on_device, width, 2);
  CHECK(cudaMemcpy(got.data(), on_device, got.size() * sizeof(float2), cudaMemcpyDeviceToHost));
  for (int i = 0; i < width * 2; ++i) EXPECT(got[i].x == i && got[i].y == -i);

  for (cudaTextureObject_t one : {texture, lines}) CHECK(cudaDestroyTextureObject(one));
  for (cudaArray_t one : {array, plane, line}) CHECK(cudaFreeArray(one));
  CHECK(cudaFree(device));
  CHECK(cudaFree(on_device));
  return passed();
}
