#include <cstdint>
static __device__ __forceinline__ float op_silu(float x) { return x / (1.0f + expf(-x)); }
static __device__ __forceinline__ float op_relu(float x) { return fmaxf(x, 0.0f); }
template <float (*op)(float), typename T>
static __global__ void unary_kernel(const T* x, T* dst, const int k) {
  const int i = blockDim.x * blockIdx.x + threadIdx.x;
  if (i < k) dst[i] = (T)op((float)x[i]);
}
template <float (*op)(float), typename T>
static void unary(const T* x, T* dst, const int k, cudaStream_t stream) {
  unary_kernel<op><<<(k + 255) / 256, 256, 0, stream>>>(x, dst, k);
}
void silu(const float* x, float* dst, int k, cudaStream_t stream) { unary<op_silu>(x, dst, k, stream); }
void relu(const float* x, float* dst, int k, cudaStream_t stream) { unary<op_relu>(x, dst, k, stream); }
