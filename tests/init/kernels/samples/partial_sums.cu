// Sums of tiles, in a namespace, launched by a template that is instantiated further down.
namespace prims {

template <typename T, int kThreads, int kItems>
__global__ void partial_sums(const T* values, T* sums, int n) {
  __shared__ T part[kThreads];
  T sum = T();
  for (int i = 0; i < kItems; ++i) {
    const int at = (blockIdx.x * kItems + i) * kThreads + threadIdx.x;
    if (at < n) sum += values[at];
  }
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int step = kThreads / 2; step > 0; step /= 2) {
    if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

}  // namespace prims

template <typename T, int kItems>
void sum_tiles(const T* values, T* sums, int n) {
  constexpr int kThreads = 64;
  prims::partial_sums<T, kThreads, kItems><<<(n + kThreads * kItems - 1) / (kThreads * kItems), kThreads>>>(values, sums, n);
}
template void sum_tiles<float, 2>(const float*, float*, int);
