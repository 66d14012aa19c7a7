// Chooses among texture objects in memory, of several formats and kinds, by a number of the thread.
#include "program.h"

__global__ void sample(const cudaTextureObject_t* textures, int count, float4* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef FAULTY
  int which = i % (count + 1);
#else
  int which = i % count;
#endif
  out[i] = tex2D<float4>(textures[which], 1, 2);  // fault
}

int main() {
  const int size = 4, threads = 64;
  std::vector<cudaArray_t> arrays;
  std::vector<cudaTextureObject_t> textures;
  auto add = [&](auto texel, cudaTextureReadMode mode) {
    using T = decltype(texel);
    std::vector<T> texels(size * size, texel);
    cudaChannelFormatDesc format = cudaCreateChannelDesc<T>(), told{};
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeArray;
    cudaArray_t& array = resource.res.array.array;
    CHECK(cudaMallocArray(&array, &format, size, size));
    CHECK(cudaGetChannelDesc(&told, array));
    EXPECT(told.x == format.x && told.w == format.w && told.f == format.f);
    CHECK(cudaMemcpy2DToArray(array, 0, 0, texels.data(), size * sizeof(T), size * sizeof(T), size,
                              cudaMemcpyHostToDevice));
    cudaTextureDesc how{};
    how.readMode = mode;
    cudaTextureObject_t texture;
    CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
    arrays.push_back(array);
    textures.push_back(texture);
  };
  add(make_uchar4(255, 51, 0, 102), cudaReadModeNormalizedFloat);
  add(make_float4(1, 2, 3, 4), cudaReadModeElementType);
  add(make_short2(32767, -32767), cudaReadModeNormalizedFloat);
  add(make_ushort1(65535), cudaReadModeNormalizedFloat);
  const int count = static_cast<int>(textures.size());
  cudaTextureObject_t* list;
  float4* device;
  std::vector<float4> out(threads);
  CHECK(cudaMalloc(&list, (count + 1) * sizeof(cudaTextureObject_t)));
  CHECK(cudaMalloc(&device, threads * sizeof(float4)));
  CHECK(cudaMemset(list, 0, (count + 1) * sizeof(cudaTextureObject_t)));
  CHECK(cudaMemcpy(list, textures.data(), count * sizeof(cudaTextureObject_t), cudaMemcpyHostToDevice));
  sample<<<2, threads / 2>>>(list, count, device);
  CHECK(cudaMemcpy(out.data(), device, threads * sizeof(float4), cudaMemcpyDeviceToHost));
  const float4 expected[] = {make_float4(1, 0.2f, 0, 0.4f), make_float4(1, 2, 3, 4),
                             make_float4(1, -1, 0, 0), make_float4(1, 0, 0, 0)};
  for (int i = 0; i < threads; ++i) {
    const float4 want = expected[i % count];
    const float off = std::fabs(out[i].x - want.x) + std::fabs(out[i].y - want.y) +
                      std::fabs(out[i].z - want.z) + std::fabs(out[i].w - want.w);
    EXPECT(off < 1e-6f);
  }
  for (cudaTextureObject_t texture : textures) CHECK(cudaDestroyTextureObject(texture));
  for (cudaArray_t array : arrays) CHECK(cudaFreeArray(array));
  CHECK(cudaFree(list));
  CHECK(cudaFree(device));
  return passed();
}
