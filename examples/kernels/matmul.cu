// C[M, N] = A[M, K] B[K, N] through 16 x 16 tiles in shared memory; any sizes.
constexpr int kTile = 16;

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[kTile][kTile];
  __shared__ float right[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int base = 0; base < k; base += kTile) {
    const int left_column = base + threadIdx.x, right_row = base + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < m && left_column < k ? a[row * k + left_column] : 0.0f;
    right[threadIdx.y][threadIdx.x] = right_row < k && column < n ? b[right_row * n + column] : 0.0f;
    __syncthreads();
    // A padded zero must not meet an infinity of the other tile: 0 * inf is NaN.
    const int depth = k - base < kTile ? k - base : kTile;
    for (int i = 0; i < depth; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}
