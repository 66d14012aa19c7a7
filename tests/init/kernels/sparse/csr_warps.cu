// A warp for each row of a matrix in CSR, and the mean of each sequence of a ragged batch. No host code.
__global__ void spmv_csr_warps(const int rows, const int* begin, const int* column, const float* value, const float* x, float* y) {
  int thread = blockDim.x * blockIdx.x + threadIdx.x;
  int row = thread / 32, lane = thread & 31;
  if (row < rows) {
    float sum = 0.0f;
    for (int e = begin[row] + lane; e < begin[row + 1]; e += 32) sum += value[e] * x[column[e]];
    for (int away = 16; away > 0; away /= 2) sum += __shfl_down_sync(0xffffffff, sum, away);
    if (lane == 0) y[row] = sum;
  }
}

__global__ void ragged_mean(const float* tokens, const int* offsets, float* out, int batch, int width) {
  int b = blockIdx.y, d = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= batch || d >= width) return;
  int first = offsets[b], last = offsets[b + 1];
  float sum = 0.0f;
  for (int t = first; t < last; ++t) sum += tokens[t * width + d];
  out[b * width + d] = last > first ? sum / (last - first) : 0.0f;
}
