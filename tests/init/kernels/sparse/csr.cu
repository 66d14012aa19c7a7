template <typename T>
__global__ void spmv_csr(const int* row_ptr, const int* col_idx, const T* vals, const T* x, T* y, int num_rows) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= num_rows) return;
  T sum = 0;
  for (int e = row_ptr[row]; e < row_ptr[row + 1]; ++e) sum += vals[e] * x[col_idx[e]];
  y[row] = sum;
}
