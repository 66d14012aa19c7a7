#include <stdint.h>
__device__ inline uint32_t mix(uint64_t seed, uint32_t at) {
  uint32_t h = (uint32_t)seed ^ (at * 2654435761u) ^ (uint32_t)(seed >> 32);
  h ^= h >> 16; h *= 0x85ebca6bu; h ^= h >> 13; h *= 0xc2b2ae35u;
  return h ^ (h >> 16);
}
__global__ void dropout(const float* x, float* y, bool* mask, int64_t numel, float p, uint64_t seed, bool training) {
  const int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= numel) return;
  const bool keep = !training || mix(seed, (uint32_t)i) >= (uint32_t)(p * 4294967040.0f);
  mask[i] = keep;
  y[i] = keep ? (training ? x[i] / (1.0f - p) : x[i]) : 0.0f;
}
