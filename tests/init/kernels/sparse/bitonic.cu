constexpr int kCount = 256;
__global__ void bitonic_sort(int* keys, int n) {
  __shared__ int tile[kCount];
  const int t = threadIdx.x;
  tile[t] = keys[blockIdx.x * kCount + t];
  __syncthreads();
  for (int size = 2; size <= kCount; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      const int other = t ^ stride;
      if (other > t && (tile[t] > tile[other]) == ((t & size) == 0)) { int keep = tile[t]; tile[t] = tile[other]; tile[other] = keep; }
      __syncthreads();
    }
  keys[blockIdx.x * kCount + t] = tile[t];
}
void sort(int* keys, int n) { bitonic_sort<<<n / kCount, kCount>>>(keys, n); }
