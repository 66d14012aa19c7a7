#include <cuda_fp16.h>
#include <cuda_bf16.h>
// One block for one row; T is what is stored.
template <typename T, int BLOCK>
__global__ void __launch_bounds__(BLOCK) softmax_kernel(const T* __restrict__ in, T* __restrict__ out, int cols) {
  __shared__ float parts[BLOCK];
  const T* x = in + blockIdx.x * cols;
  T* y = out + blockIdx.x * cols;
  float top = -3.4e38f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) top = fmaxf(top, (float)x[i]);
  parts[threadIdx.x] = top;
  __syncthreads();
  for (int s = BLOCK / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) parts[threadIdx.x] = fmaxf(parts[threadIdx.x], parts[threadIdx.x + s]);
    __syncthreads();
  }
  top = parts[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += BLOCK) sum += expf((float)x[i] - top);
  parts[threadIdx.x] = sum;
  __syncthreads();
  for (int s = BLOCK / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) parts[threadIdx.x] += parts[threadIdx.x + s];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < cols; i += BLOCK) y[i] = (T)(expf((float)x[i] - top) / parts[0]);
}
template <typename T>
void softmax(const T* in, T* out, int rows, int cols) {
  if (cols > 512)
    softmax_kernel<T, 256><<<rows, 256>>>(in, out, cols);
  else
    softmax_kernel<T, 128><<<rows, 128>>>(in, out, cols);
}
template void softmax<__half>(const __half*, __half*, int, int);
template void softmax<float>(const float*, float*, int, int);
