// y[cols, rows] = x[rows, cols]^T by tiles of 32 x 33 floats: the extra column keeps the lanes of a
// warp in different banks. The strides are the elements from one row to the next.
constexpr int kTile = 32;
constexpr int kBlockRows = 8;

extern "C" __global__ void transpose(const float* x, float* y, int rows, int cols, int x_stride,
                                     int y_stride) {
  __shared__ float tile[kTile][kTile + 1];
  int column = blockIdx.x * kTile + threadIdx.x;
  int row = blockIdx.y * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kBlockRows) {
    if (column < cols && row + i < rows) tile[threadIdx.y + i][threadIdx.x] = x[(row + i) * x_stride + column];
  }
  __syncthreads();
  column = blockIdx.y * kTile + threadIdx.x;
  row = blockIdx.x * kTile + threadIdx.y;
  for (int i = 0; i < kTile; i += kBlockRows) {
    if (column < rows && row + i < cols) y[(row + i) * y_stride + column] = tile[threadIdx.x][threadIdx.y + i];
  }
}
