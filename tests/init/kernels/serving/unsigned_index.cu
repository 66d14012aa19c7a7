template <typename T, typename index_t>
__global__ void take_rows(const T* src, const index_t* index, T* out, index_t rows, index_t cols) {
  const index_t row = blockIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols && row < rows) out[row * cols + col] = src[index[row] * cols + col];
}
template <typename T>
__global__ void count_up(const T* x, T* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] + T(1);
}
void run(const float* x, float* y, const unsigned* index, unsigned rows, unsigned cols) {
  take_rows<float, unsigned><<<dim3((cols + 127) / 128, rows), 128>>>(x, index, y, rows, cols);
  count_up<unsigned><<<(rows + 255) / 256, 256>>>(index, (unsigned*)index, rows);
}
