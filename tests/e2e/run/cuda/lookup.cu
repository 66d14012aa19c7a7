// Reads tables through textures: of plain memory by index, of pitched memory, and of an array of
// one row with filter.
#include "program.h"

__global__ void read(cudaTextureObject_t plain, cudaTextureObject_t rows, cudaTextureObject_t line,
                     float* out) {
  int i = threadIdx.x;
  uchar4 color = tex1Dfetch<uchar4>(plain, i);  // fault
  float part = tex2D<float>(rows, i % 8, i / 8);
  float between = tex1D<float>(line, i + 1.0f);
  out[i] = (color.x > 128 ? 1000 : color.x) + 100 * part + 10 * between;
}

cudaTextureObject_t texture_of(const cudaResourceDesc& resource, cudaTextureReadMode mode,
                               cudaTextureFilterMode filter) {
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.readMode = mode;
  how.filterMode = filter;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  return texture;
}

int main() {
  const int n = 32;
  std::vector<uchar4> colors(n);
  std::vector<unsigned char> levels(n);
  std::vector<float> steps(n);
  for (int i = 0; i < n; ++i) {
    colors[i] = make_uchar4(i, 0, 0, 0);
    levels[i] = i % 2 ? 255 : 0;
    steps[i] = i;
  }
  uchar4* plain;
  unsigned char* pitched;
  size_t pitch;
  CHECK(cudaMalloc(&plain, n * sizeof(uchar4)));
#ifdef FAULTY
  const int copied = n / 2;
#else
  const int copied = n;
#endif
  CHECK(cudaMemcpy(plain, colors.data(), copied * sizeof(uchar4), cudaMemcpyHostToDevice));
  CHECK(cudaMallocPitch(&pitched, &pitch, 8, 4));
  CHECK(cudaMemcpy2D(pitched, pitch, levels.data(), 8, 8, 4, cudaMemcpyHostToDevice));
  cudaArray_t line;
  cudaChannelFormatDesc floats = cudaCreateChannelDesc<float>();
  CHECK(cudaMallocArray(&line, &floats, n));
  CHECK(cudaMemcpy2DToArray(line, 0, 0, steps.data(), n * sizeof(float), n * sizeof(float), 1,
                            cudaMemcpyHostToDevice));

  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = plain;
  resource.res.linear.desc = cudaCreateChannelDesc<uchar4>();
  resource.res.linear.sizeInBytes = n * sizeof(uchar4);
  cudaTextureObject_t by_index =
      texture_of(resource, cudaReadModeElementType, cudaFilterModePoint);
  resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = pitched;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<unsigned char>();
  resource.res.pitch2D.width = 8;
  resource.res.pitch2D.height = 4;
  resource.res.pitch2D.pitchInBytes = pitch;
  cudaTextureObject_t of_rows =
      texture_of(resource, cudaReadModeNormalizedFloat, cudaFilterModePoint);
  resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = line;
  cudaTextureObject_t of_line =
      texture_of(resource, cudaReadModeElementType, cudaFilterModeLinear);

  std::vector<float> out(n);
  float* device;
  CHECK(cudaMalloc(&device, n * sizeof(float)));
  read<<<1, n>>>(by_index, of_rows, of_line, device);
  CHECK(cudaMemcpy(out.data(), device, n * sizeof(float), cudaMemcpyDeviceToHost));
#ifndef FAULTY
  // Filtered between two texels at i + 1 - 0.5; behind the last one the last one.
  for (int i = 0; i < n; ++i) {
    EXPECT(out[i] == i + (i % 2 ? 100 : 0) + 10 * (i < n - 1 ? i + 0.5f : i));
  }
#endif
  for (cudaTextureObject_t one : {by_index, of_rows, of_line}) CHECK(cudaDestroyTextureObject(one));
  CHECK(cudaFreeArray(line));
  CHECK(cudaFree(plain));
  CHECK(cudaFree(pitched));
  CHECK(cudaFree(device));
  return passed();
}
