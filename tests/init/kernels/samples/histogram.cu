#include <stdint.h>
#define BINS 256
__global__ void histogram256(const uint8_t* data, unsigned int* bins, unsigned int byteCount) {
  __shared__ unsigned int counts[BINS];
  for (int i = threadIdx.x; i < BINS; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  for (unsigned int at = blockIdx.x * blockDim.x + threadIdx.x; at < byteCount; at += blockDim.x * gridDim.x)
    atomicAdd(&counts[data[at]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < BINS; i += blockDim.x) atomicAdd(&bins[i], counts[i]);
}
void histogram(const uint8_t* data, unsigned int* bins, unsigned int byteCount) {
  histogram256<<<16, 192>>>(data, bins, byteCount);
}
