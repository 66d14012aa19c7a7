// The radix sort of CUB.
#include <cub/block/block_radix_sort.cuh>

extern "C" __global__ void cub_sort(const float* keys, const int* values, float* sorted, int* moved) {
  using Sort = cub::BlockRadixSort<float, 64, 4, int>;
  __shared__ Sort::TempStorage room;
  float key[4];
  int value[4];
  const int at = blockIdx.x * 256 + threadIdx.x * 4;
  for (int i = 0; i < 4; ++i) key[i] = keys[at + i], value[i] = values[at + i];
  Sort(room).Sort(key, value);
  for (int i = 0; i < 4; ++i) sorted[at + i] = key[i], moved[at + i] = value[i];
}
