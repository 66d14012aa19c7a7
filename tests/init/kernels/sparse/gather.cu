__global__ void gather_rows(const float* src, const long long* index, float* dst, int num_index, int feature) {
  int i = blockIdx.y, f = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < num_index && f < feature) dst[(size_t)i * feature + f] = src[index[i] * feature + f];
}
__global__ void scatter_add(const float* from, const int* index, float* into, int num_index, int feature) {
  int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at < num_index * feature) atomicAdd(into + index[at / feature] * feature + at % feature, from[at]);
}
