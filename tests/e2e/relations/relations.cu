// Kernels without a reference: correct ones, and ones with a fault that a relation shows.
#define INDEX int(blockIdx.x * blockDim.x + threadIdx.x)

// One thread per row.
template <bool kMaximum>
__device__ void softmax(const float* x, float* y, int rows, int cols) {
  const int row = INDEX;
  if (row >= rows) return;
  x += long(row) * cols;
  y += long(row) * cols;
  float most = kMaximum ? x[0] : 0, sum = 0;
  for (int i = 1; kMaximum && i < cols; ++i) most = x[i] > most || x[i] != x[i] ? x[i] : most;
  for (int i = 0; i < cols; ++i) sum += y[i] = expf(x[i] - most);
  for (int i = 0; i < cols; ++i) y[i] /= sum;
}
extern "C" __global__ void softmax_right(const float* x, float* y, int rows, int cols) {
  softmax<true>(x, y, rows, cols);
}
extern "C" __global__ void softmax_no_maximum(const float* x, float* y, int rows, int cols) {
  softmax<false>(x, y, rows, cols);
}

// y = a b; the last `skip` steps are left out.
__device__ void multiply(const float* a, const float* b, float* y, int m, int n, int k, int skip) {
  const int i = INDEX;
  if (i >= m * n) return;
  float sum = 0;
  for (int l = 0; l < k - skip; ++l) sum += a[i / n * k + l] * b[l * n + i % n];
  y[i] = sum;
}
extern "C" __global__ void matmul_right(const float* a, const float* b, float* y, int m, int n, int k) {
  multiply(a, b, y, m, n, k, 0);
}
// The last step is missing when the inner dim is no multiple of 4.
extern "C" __global__ void matmul_tail(const float* a, const float* b, float* y, int m, int n, int k) {
  multiply(a, b, y, m, n, k, k % 4);
}
extern "C" __global__ void matmul_bias(const float* a, const float* b, float* y, int m, int n, int k) {
  multiply(a, b, y, m, n, k, 0);
  const int i = INDEX;
  if (i < m * n) y[i] += 0.5f;
}

extern "C" __global__ void row_max_right(const float* x, float* y, int rows, int cols) {
  const int row = INDEX;
  if (row >= rows) return;
  float most = x[row * cols];
  for (int i = 1; i < cols; ++i) most = fmaxf(most, x[row * cols + i]);
  y[row] = most;
}
// The wrong identity, and what lies behind the row's end: the next row.
extern "C" __global__ void row_max_leak(const float* x, float* y, int rows, int cols) {
  const int row = INDEX;
  if (row >= rows) return;
  float most = x[row * cols];
  for (int i = 1; i <= cols && row * cols + i < rows * cols; ++i) most = fmaxf(most, x[row * cols + i]);
  y[row] = most;
}

// From 5 rows on the first column alone counts.
extern "C" __global__ void row_max_few_rows(const float* x, float* y, int rows, int cols) {
  const int row = INDEX;
  if (row >= rows) return;
  float most = x[row * cols];
  for (int i = 1; i < (rows >= 5 ? 1 : cols); ++i) most = fmaxf(most, x[row * cols + i]);
  y[row] = most;
}

extern "C" __global__ void scan_right(const float* x, float* y, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i) y[i] = sum += x[i];
}
// Everything is shifted by the mean, so the past depends on the future.
extern "C" __global__ void scan_centred(const float* x, float* y, int n) {
  float mean = 0, sum = 0;
  for (int i = 0; i < n; ++i) mean += x[i] / n;
  for (int i = 0; i < n; ++i) y[i] = sum += x[i] - mean;
}

extern "C" __global__ void relu_right(const float* x, float* y, int n) {
  for (int i = INDEX; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] < 0 ? 0 : x[i];
}
// The stride is that of a block of 128.
extern "C" __global__ void relu_stride(const float* x, float* y, int n) {
  for (int i = INDEX; i < n; i += gridDim.x * 128) y[i] = x[i] < 0 ? 0 : x[i];
}
// Half of the elements are done twice.
extern "C" __global__ void relu_overlap(const float* x, float* y, int n) {
  const int i = INDEX;
  for (int pass = 0; pass < 1 + i % 2 && i < n; ++pass) {
    y[i] = x[i] < 0 ? 0 : x[i];
    __syncwarp(__activemask());
  }
}
extern "C" __global__ void relu_leaky(const float* x, float* y, int n) {
  const int i = INDEX;
  if (i < n) y[i] = x[i] < 0 ? 0.01f * x[i] : x[i];
}
extern "C" __global__ void relu_shifted(const float* x, float* y, int n) {
  const int i = INDEX;
  if (i < n) y[i] = x[i] < 1e-3f ? 0 : x[i];
}
// Correct into other memory; in place a thread may see its neighbour's result.
extern "C" __global__ void difference(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = i > 0 ? x[i] - x[i - 1] : x[i];
}
extern "C" __global__ void tanh_clipped(const float* x, float* y, int n) {
  const int i = INDEX;
  if (i < n) y[i] = x[i] > 2 ? 1 : tanhf(x[i]);
}
extern "C" __global__ void transpose_right(const float* x, float* y, int rows, int cols) {
  const int i = INDEX;
  if (i < rows * cols) y[i % cols * rows + i / cols] = x[i];
}
extern "C" __global__ void transpose_copy(const float* x, float* y, int rows, int cols) {
  const int i = INDEX;
  if (i < rows * cols) y[i] = x[i];
}

// Results that come from somewhere else.
extern "C" __global__ void zeros(const float* x, float* y, int n) {
  const int i = INDEX;
  if (i < n) y[i] = 0;
}
extern "C" __global__ void all_nan(const float* x, float* y, int n) {
  const int i = INDEX;
  if (i < n) y[i] = nanf("");
}
constexpr int kKept = 4096;
__device__ float kept_by_shape[kKept], kept_by_address[kKept];
__device__ int kept_size;
__device__ const float* kept_address;
extern "C" __global__ void cached_by_shape(const float* x, float* y, int n) {
  const bool known = kept_size == n;
  for (int i = 0; i < n; ++i) y[i] = known ? kept_by_shape[i] : kept_by_shape[i] = 2 * x[i];
  kept_size = n;
}
extern "C" __global__ void cached_by_address(const float* x, float* y, int n) {
  const bool known = kept_address == x;
  for (int i = 0; i < n; ++i) y[i] = known ? kept_by_address[i] : kept_by_address[i] = 2 * x[i];
  kept_address = x;
}
__device__ float total;
extern "C" __global__ void workspace_not_reset(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) total += x[i];
  for (int i = 0; i < n; ++i) y[i] = 2 * x[i] + 0 * total + (total > 1e6f ? 1 : 0) + total * 1e-3f;
}
extern "C" __global__ void input_zeroing(float* x, float* y, int n) {
  const int i = INDEX;
  if (i >= n) return;
  y[i] = 0;
  x[i] = 0;
}
extern "C" __global__ void input_to_nan(float* x, float* y, int n) {
  const int i = INDEX;
  if (i >= n) return;
  y[i] = nanf("");
  x[i] = nanf("");
}
extern "C" __global__ void not_written(const float* x, float* y, int n) {}
extern "C" __global__ void twice(const float* x, float* y, int n) {
  const int i = INDEX;
  if (i < n) y[i] = 2 * x[i];
}
extern "C" __global__ void numbers_from_thread(float* y, int n) {
  const int i = INDEX;
  if (i < n) y[i] = 2.0f * threadIdx.x + 1;
}
