// Warps and blocks at work: reductions, scans, tiles, histograms, atomics.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void clear(unsigned* out, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = 0;
}

// One warp per row of 32: a butterfly, redux.sync and votes.
extern "C" __global__ void warp_reduce(const float* x, const int* k, float* sums, int* bits) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  float sum = x[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const int least = __reduce_min_sync(~0u, k[i]);
  const unsigned all = __reduce_or_sync(~0u, unsigned(k[i]));
  if (threadIdx.x > 0) return;
  sums[blockIdx.x] = sum;
  bits[2 * blockIdx.x] = least;
  bits[2 * blockIdx.x + 1] = int(all);
}

extern "C" __global__ void warp_scan(const float* x, float* y) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  float sum = x[i];
  for (int d = 1; d < 32; d *= 2) {
    const float before = __shfl_up_sync(~0u, sum, d);
    if (threadIdx.x >= d) sum += before;
  }
  y[i] = sum;
}

// Groups of eight, and the group of those lanes that take a branch.
extern "C" __global__ void groups(const float* x, float* sums, int* ranks, int n) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<8>(block);
  const int i = block.group_index().x * block.size() + block.thread_rank();
  const float v = i < n ? x[i] : 0.0f;
  const float sum = cg::reduce(tile, v, cg::plus<float>());
  if (i >= n) return;
  sums[i] = sum;
  ranks[i] = -1;
  if (v > 0) {
    const auto some = cg::coalesced_threads();
    ranks[i] = int(some.thread_rank() * 100 + some.size());
  }
}

// Five points, a tile with its rim in shared memory; zero outside.
extern "C" __global__ void stencil(const float* x, float* y, int rows, int cols) {
  __shared__ float tile[10][34];
  const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
  for (int r = threadIdx.y; r < 10; r += 8)
    for (int c = threadIdx.x; c < 34; c += 32) {
      const int from = blockIdx.y * 8 + r - 1, at = blockIdx.x * 32 + c - 1;
      tile[r][c] = from >= 0 && from < rows && at >= 0 && at < cols ? x[from * cols + at] : 0.0f;
    }
  __syncthreads();
  if (row >= rows || col >= cols) return;
  const float(*here)[34] = &tile[threadIdx.y];
  const int c = threadIdx.x;
  y[row * cols + col] = 0.5f * here[1][c + 1] + 0.125f * (here[0][c + 1] + here[2][c + 1] + here[1][c] + here[1][c + 2]);
}

// Padded against bank conflicts.
extern "C" __global__ void transpose_tiles(const double* x, double* y, int rows, int cols) {
  __shared__ double tile[16][17];
  int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
  if (row < rows && col < cols) tile[threadIdx.y][threadIdx.x] = x[row * cols + col];
  __syncthreads();
  row = blockIdx.x * 16 + threadIdx.y;
  col = blockIdx.y * 16 + threadIdx.x;
  if (row < cols && col < rows) y[row * rows + col] = tile[threadIdx.x][threadIdx.y];
}

// Counted in shared memory first.
extern "C" __global__ void shared_histogram(const unsigned char* x, unsigned* counts, int n) {
  __shared__ unsigned mine[64];
  if (threadIdx.x < 64) mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&mine[x[i] / 4], 1);
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&counts[threadIdx.x], mine[threadIdx.x]);
}

// Whatever the order, the same end.
extern "C" __global__ void integer_atomics(const int* x, unsigned* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int v = x[i];
  int* const whole = (int*)out;
  atomicAdd(&whole[0], v);
  atomicMax(&whole[1], v);
  atomicMin(&whole[2], v);
  atomicOr(&out[3], v);
  atomicXor(&out[4], v);
  atomicAnd(&out[5], ~v);
  atomicInc(&out[6], 100);
  atomicSub(&whole[7], v);
  atomicAdd((unsigned long long*)&out[8], (unsigned long long)(unsigned)v * 3);
  unsigned seen = out[10], expected;
  do {  // A product modulo 2^32, by compare and swap.
    expected = seen;
    seen = atomicCAS(&out[10], expected, (expected + 1) * (2u * unsigned(v) + 1) - 1);
  } while (seen != expected);
}

// Rows of eight columns that are chosen by an index, as a sparse matrix stores them.
extern "C" __global__ void sparse_product(const float* values, const int* columns, const float* x, float* y, int rows,
                                          int cols) {
  const int row = blockIdx.x * (blockDim.x / 8) + threadIdx.x / 8, lane = threadIdx.x % 8;
  float sum = 0;
  if (row < rows) sum = values[row * 8 + lane] * x[(unsigned)columns[row * 8 + lane] % cols];
  for (int d = 4; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d, 8);
  if (row < rows && lane == 0) y[row] = sum;
}

// Philox 4x32-10: random numbers by multiplication alone.
extern "C" __global__ void philox(const unsigned* key, unsigned* words, float* uniform, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned c[4] = {unsigned(i), 0, 7, 0}, a = key[0], b = key[1];
  for (int round = 0; round < 10; ++round) {
    const unsigned h0 = __umulhi(0xD2511F53u, c[0]), l0 = 0xD2511F53u * c[0];
    const unsigned h1 = __umulhi(0xCD9E8D57u, c[2]), l1 = 0xCD9E8D57u * c[2];
    c[0] = h1 ^ c[1] ^ a, c[1] = l1, c[2] = h0 ^ c[3] ^ b, c[3] = l0;
    a += 0x9E3779B9u, b += 0xBB67AE85u;
  }
  for (int k = 0; k < 4; ++k) {
    words[4 * i + k] = c[k];
    uniform[4 * i + k] = c[k] * 0x1p-32f + 0x1p-33f;
  }
}

// Sums of blocks, the sums' own scan, and everything brought together.
extern "C" __global__ void scan_blocks(const int* x, int* y, int* totals, int n) {
  __shared__ int part[256];
  const int t = threadIdx.x, i = blockIdx.x * 256 + t;
  part[t] = i < n ? x[i] : 0;
  __syncthreads();
  for (int d = 1; d < 256; d *= 2) {
    const int before = t >= d ? part[t - d] : 0;
    __syncthreads();
    part[t] += before;
    __syncthreads();
  }
  if (i < n) y[i] = part[t];
  if (t == 255) totals[blockIdx.x] = part[t];
}

extern "C" __global__ void add_totals(int* y, const int* totals, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  int before = 0;
  for (int b = 0; b < int(blockIdx.x); ++b) before += totals[b];
  if (i < n) y[i] += before;
}

// A transform of 256 complex numbers per block, in place in shared memory.
extern "C" __global__ void fourier(const float2* x, float2* y) {
  __shared__ float2 v[256];
  const int t = threadIdx.x;
  for (int k = t; k < 256; k += 128) v[__brev(k) >> 24] = x[blockIdx.x * 256 + k];
  for (int half = 1; half < 256; half *= 2) {
    __syncthreads();
    const int at = t % half, low = (t - at) * 2 + at;
    float s, c;
    sincospif(-float(at) / half, &s, &c);
    const float2 a = v[low], b = v[low + half];
    const float2 turned = {b.x * c - b.y * s, b.x * s + b.y * c};
    v[low] = {a.x + turned.x, a.y + turned.y};
    v[low + half] = {a.x - turned.x, a.y - turned.y};
  }
  __syncthreads();
  for (int k = t; k < 256; k += 128) y[blockIdx.x * 256 + k] = v[k];
}
