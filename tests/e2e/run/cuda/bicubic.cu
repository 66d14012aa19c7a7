// Enlarges a picture by a cubic B-spline: with four filtered reads, with sixteen reads of texels,
// and with sixteen texels that tex2Dgather brings four at a time.
#include "program.h"

__host__ __device__ void weights(float t, float* w) {
  w[0] = (1 - t) * (1 - t) * (1 - t) / 6;
  w[1] = (t * t * (3 * t - 6) + 4) / 6;
  w[2] = (t * (t * (-3 * t + 3) + 3) + 1) / 6;
  w[3] = t * t * t / 6;
}

__global__ void enlarge(cudaTextureObject_t filtered, cudaTextureObject_t plain, float3* out,
                        int width, int height, float scale) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  float u = (x + 0.5f) * scale - 0.5f, v = (y + 0.5f) * scale - 0.5f;
  float left = floorf(u), top = floorf(v), wx[4], wy[4];
  weights(u - left, wx);
  weights(v - top, wy);
  float3 sum = make_float3(0, 0, 0);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 4; ++j) {
      sum.x += wx[i] * wy[j] * tex2D<float>(plain, left + i - 0.5f, top + j - 0.5f);
    }
  }
  // A filtered read gives two texels in the relation of their weights.
  float gx[2] = {wx[0] + wx[1], wx[2] + wx[3]}, gy[2] = {wy[0] + wy[1], wy[2] + wy[3]};
  float hx[2] = {left - 0.5f + wx[1] / gx[0], left + 1.5f + wx[3] / gx[1]};
  float hy[2] = {top - 0.5f + wy[1] / gy[0], top + 1.5f + wy[3] / gy[1]};
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      sum.y += gx[i] * gy[j] * tex2D<float>(filtered, hx[i], hy[j]);
      float4 four = tex2Dgather<float4>(plain, left + 2 * i, top + 2 * j, 0);  // fault
      // From the lower left texel on, counter-clockwise.
      sum.z += wx[2 * i] * wy[2 * j + 1] * four.x + wx[2 * i + 1] * wy[2 * j + 1] * four.y +
               wx[2 * i + 1] * wy[2 * j] * four.z + wx[2 * i] * wy[2 * j] * four.w;
    }
  }
  out[y * width + x] = sum;
}

int main() {
  const int small = 16, scale = 3, large = small * scale;
  std::vector<float> picture(small * small);
  for (int i = 0; i < small * small; ++i) picture[i] = (i * 37 % 101) / 100.0f;
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array;
  CHECK(cudaMallocArray(&array, &format, small, small, cudaArrayTextureGather));
#ifdef FAULTY
  const int rows = small - 1;
#else
  const int rows = small;
#endif
  CHECK(cudaMemcpy2DToArray(array, 0, 0, picture.data(), small * sizeof(float),
                            small * sizeof(float), rows, cudaMemcpyHostToDevice));
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureDesc how{};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  cudaTextureObject_t plain, filtered;
  CHECK(cudaCreateTextureObject(&plain, &resource, &how, nullptr));
  how.filterMode = cudaFilterModeLinear;
  CHECK(cudaCreateTextureObject(&filtered, &resource, &how, nullptr));
  float3* device;
  std::vector<float3> out(large * large);
  CHECK(cudaMalloc(&device, out.size() * sizeof(float3)));
  enlarge<<<dim3(3, 3), dim3(16, 16)>>>(filtered, plain, device, large, large, 1.0f / scale);
  CHECK(cudaMemcpy(out.data(), device, out.size() * sizeof(float3), cudaMemcpyDeviceToHost));
#ifndef FAULTY
  for (const float3& one : out) {
    EXPECT(std::fabs(one.x - one.z) < 1e-5f);
    EXPECT(std::fabs(one.x - one.y) < 0.02f);  // The weights of the filter have 8 bits.
  }
#endif
  for (cudaTextureObject_t texture : {plain, filtered}) CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(device));
  return passed();
}
