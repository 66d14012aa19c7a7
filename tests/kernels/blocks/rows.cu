// One block per row: what networks are made of.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ float wide(float v) { return v; }
__device__ float wide(__half v) { return __half2float(v); }
__device__ float wide(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void store(float* to, float v) { *to = v; }
__device__ void store(__half* to, float v) { *to = __float2half(v); }
__device__ void store(__nv_bfloat16* to, float v) { *to = __float2bfloat16(v); }

template <typename Combine>
__device__ float all_of_block(float v, Combine combine) {
  __shared__ float parts[4];
  for (int d = 16; d > 0; d /= 2) v = combine(v, __shfl_xor_sync(~0u, v, d));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  v = combine(combine(parts[0], parts[1]), combine(parts[2], parts[3]));
  __syncthreads();
  return v;
}
__device__ float sum_of_block(float v) {
  return all_of_block(v, [](float a, float b) { return a + b; });
}
__device__ float most_of_block(float v) {
  return all_of_block(v, [](float a, float b) { return fmaxf(a, b); });
}

template <typename T>
__global__ void softmax_rows(const T* x, T* y, int cols) {
  const T* row = x + blockIdx.x * cols;
  float most = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < cols; c += 128) most = fmaxf(most, wide(row[c]));
  most = most_of_block(most);
  for (int c = threadIdx.x; c < cols; c += 128) sum += __expf(wide(row[c]) - most);
  sum = sum_of_block(sum);
  for (int c = threadIdx.x; c < cols; c += 128) store(&y[blockIdx.x * cols + c], __expf(wide(row[c]) - most) / sum);
}

template <typename T>
__global__ void layernorm_rows(const T* x, const T* weight, T* y, float* means, int cols) {
  const T* row = x + blockIdx.x * cols;
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < cols; c += 128) sum += wide(row[c]);
  const float mean = sum_of_block(sum) / cols;
  for (int c = threadIdx.x; c < cols; c += 128) squares += (wide(row[c]) - mean) * (wide(row[c]) - mean);
  const float scale = rsqrtf(sum_of_block(squares) / cols + 1e-5f);
  for (int c = threadIdx.x; c < cols; c += 128)
    store(&y[blockIdx.x * cols + c], (wide(row[c]) - mean) * scale * wide(weight[c]));
  if (threadIdx.x == 0) means[blockIdx.x] = mean;
}

// One warp per query of 32 features: scores, their maximum and their sum grow key by key.
extern "C" __global__ void attention(const float* q, const float* k, const float* v, float* o, int keys) {
  const int d = threadIdx.x, query = blockIdx.x;
  const float mine = q[query * 32 + d] * 0.17677669f;
  float most = -INFINITY, sum = 0, out = 0;
  for (int key = 0; key < keys; ++key) {
    float score = mine * k[key * 32 + d];
    for (int s = 16; s > 0; s /= 2) score += __shfl_xor_sync(~0u, score, s);
    const float next = fmaxf(most, score), kept = expf(most - next), weight = expf(score - next);
    sum = sum * kept + weight;
    out = out * kept + weight * v[key * 32 + d];
    most = next;
  }
  o[query * 32 + d] = out / sum;
}

// Losses of the right answers, by the logarithm of the sum of exponentials.
extern "C" __global__ void cross_entropy(const float* x, const int* answers, float* losses, int cols) {
  const float* row = x + blockIdx.x * cols;
  float most = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < cols; c += 128) most = fmaxf(most, row[c]);
  most = most_of_block(most);
  for (int c = threadIdx.x; c < cols; c += 128) sum += expf(row[c] - most);
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) losses[blockIdx.x] = logf(sum) + most - row[(unsigned)answers[blockIdx.x] % cols];
}

// The largest and where it is first, packed into 64 bits.
extern "C" __global__ void argmax_rows(const float* x, int* at, int cols) {
  __shared__ unsigned long long best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  for (int c = threadIdx.x; c < cols; c += 128) {
    const float v = x[blockIdx.x * cols + c] + 0.0f;  // -0 is 0.
    unsigned order = __float_as_uint(v);
    order ^= order >> 31 ? ~0u : 0x80000000u;
    atomicMax(&best, (unsigned long long)order << 32 | (0xffffffffu - c));
  }
  __syncthreads();
  if (threadIdx.x == 0) at[blockIdx.x] = int(0xffffffffu - unsigned(best));
}

// Bytes four at a time.
extern "C" __global__ void byte_products(const int* a, const int* b, int* y, int words) {
  int sum = 0;
  for (int w = threadIdx.x; w < words; w += 32) sum = __dp4a(a[blockIdx.x * words + w], b[w], sum);
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

// Tiles of both sides in shared memory.
extern "C" __global__ void tiled_product(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float left[16][16], right[16][16];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, col = blockIdx.x * 16 + x;
  float sum = 0;
  for (int at = 0; at < k; at += 16) {
    left[y][x] = row < m && at + x < k ? a[row * k + at + x] : 0;
    right[y][x] = at + y < k && col < n ? b[(at + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = sum;
}

// Neighbouring pairs turned by an angle that grows with the row.
extern "C" __global__ void rotary(const float2* x, float2* y, int pairs) {
  const int c = threadIdx.x, i = blockIdx.x * pairs + c;
  if (c >= pairs) return;
  float s, t;
  sincosf(blockIdx.x * powf(10000.0f, -float(c) / pairs), &s, &t);
  y[i] = {x[i].x * t - x[i].y * s, x[i].x * s + x[i].y * t};
}
