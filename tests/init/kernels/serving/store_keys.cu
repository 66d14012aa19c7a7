// Rows of new tokens go to their slots in a cache of pages. Host code passes products of sizes that the kernel does not get.
#include <cuda_fp16.h>

template <typename T>
__global__ void store_keys(const T* __restrict__ key, T* __restrict__ cache, const long* __restrict__ slots, const int page_stride,
                           const int width, const int page_size) {
  const long token = blockIdx.x;
  const long slot = slots[token];
  if (slot < 0) return;
  const long page = slot / page_size, at = slot % page_size;
  for (int i = threadIdx.x; i < width; i += blockDim.x) cache[page * page_stride + at * width + i] = key[token * width + i];
}

void store(const half* key, half* cache, const long* slots, int tokens, int heads, int head_size, int page_size) {
  store_keys<half><<<tokens, 128>>>(key, cache, slots, page_size * heads * head_size, heads * head_size, page_size);
}
