// Sums, scans, counts and orders, in the ways in which real kernels make them. All of them are right.
#include "warp.h"

extern "C" __global__ void part_sums(const float* x, float* part, int n) {
  __shared__ float shared[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) part[blockIdx.x] = sum;
}
extern "C" __global__ void add_parts(const float* part, float* y, int parts) {
  const float sum = warp_sum(threadIdx.x < parts ? part[threadIdx.x] : 0.0f);
  if (threadIdx.x == 0) y[0] = sum;
}

__device__ unsigned arrived;
extern "C" __global__ void sum_by_last_block(const float* x, volatile float* part, float* y, int n) {
  __shared__ float shared[32];
  __shared__ bool is_last;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  sum = block_sum(sum, shared);
  if (threadIdx.x == 0) {
    part[blockIdx.x] = sum;
    __threadfence();
    is_last = atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!is_last) return;
  __threadfence();
  sum = block_sum(threadIdx.x < gridDim.x ? part[threadIdx.x] : 0.0f, shared);
  if (threadIdx.x == 0) y[0] = sum;
}

extern "C" __global__ void zero_float(float* y) { *y = 0; }
extern "C" __global__ void sum_by_atomics(const float* x, float* y, int n) {
  __shared__ float shared[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float sum = block_sum(i < n ? x[i] : 0.0f, shared);
  if (threadIdx.x == 0) atomicAdd(y, sum);
}

// Kahan's sum, one thread for each row.
extern "C" __global__ void compensated_sum(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0, lost = 0;
  for (int c = 0; c < cols; ++c) {
    const float term = __fsub_rn(x[row * cols + c], lost), next = __fadd_rn(sum, term);
    lost = __fsub_rn(__fsub_rn(next, sum), term);
    sum = next;
  }
  y[row] = sum;
}

// Mean and variance by Welford's update in each lane, which pairs of lanes merge.
extern "C" __global__ void welford(const float* x, float* means, float* variances, int cols) {
  float count = 0, mean = 0, squares = 0;
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float v = x[blockIdx.x * cols + c], from = v - mean;
    count += 1;
    mean += from / count;
    squares += from * (v - mean);
  }
  for (int step = 16; step > 0; step /= 2) {
    const float other_count = __shfl_xor_sync(kAll, count, step), other_mean = __shfl_xor_sync(kAll, mean, step);
    const float other_squares = __shfl_xor_sync(kAll, squares, step), both = count + other_count;
    if (both > 0) {
      const float apart = other_mean - mean;
      squares += other_squares + apart * apart * (count * other_count / both);
      mean = (mean * count + other_mean * other_count) / both;
      count = both;
    }
  }
  if (threadIdx.x == 0) means[blockIdx.x] = mean, variances[blockIdx.x] = squares / cols;
}

extern "C" __global__ void least_and_largest(const float* x, float* least, float* largest, int cols) {
  float low = infinity(), high = -infinity();
  for (int c = threadIdx.x; c < cols; c += 32) {
    const float v = x[blockIdx.x * cols + c];
    low = -larger(-low, -v), high = larger(high, v);
  }
  high = warp_max(high), low = -warp_max(-low);
  if (threadIdx.x == 0) least[blockIdx.x] = low, largest[blockIdx.x] = high;
}

__device__ inline bool comes_before(float a, int i, float b, int j) {
  if (a != a || b != b) return a != a && (b == b || i < j);
  return a > b || (a == b && i < j);
}
extern "C" __global__ void argmax(const float* x, int* y, int cols) {
  float best = -infinity();
  int at = cols;
  for (int c = threadIdx.x; c < cols; c += 32)
    if (comes_before(x[blockIdx.x * cols + c], c, best, at)) best = x[blockIdx.x * cols + c], at = c;
  for (int step = 16; step > 0; step /= 2) {
    const float other = __shfl_down_sync(kAll, best, step);
    const int other_at = __shfl_down_sync(kAll, at, step);
    if (comes_before(other, other_at, best, at)) best = other, at = other_at;
  }
  if (threadIdx.x == 0) y[blockIdx.x] = at;
}

extern "C" __global__ void log_sum_exp(const float* x, float* y, int cols) {
  float most = -infinity(), sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) most = larger(most, x[blockIdx.x * cols + c]);
  most = warp_max(most);
  for (int c = threadIdx.x; c < cols; c += 32) sum += expf(x[blockIdx.x * cols + c] - most);
  sum = warp_sum(sum);
  if (threadIdx.x == 0) y[blockIdx.x] = most + logf(sum);
}

// Inclusive scan of rows of up to 256 integers, by doubling steps with two buffers.
extern "C" __global__ void scan_row(const int* x, int* y, int cols) {
  __shared__ int buffer[2][256];
  const int t = threadIdx.x;
  int from = 0;
  buffer[0][t] = t < cols ? x[blockIdx.x * cols + t] : 0;
  __syncthreads();
  for (int step = 1; step < cols; step *= 2) {
    buffer[1 - from][t] = buffer[from][t] + (t >= step ? buffer[from][t - step] : 0);
    from = 1 - from;
    __syncthreads();
  }
  if (t < cols) y[blockIdx.x * cols + t] = buffer[from][t];
}

// Exclusive scan of any length: sums of blocks, their scan, the rest.
extern "C" __global__ void block_totals(const int* x, int* totals, int n) {
  __shared__ int total;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) total = 0;
  __syncthreads();
  if (i < n) atomicAdd(&total, x[i]);
  __syncthreads();
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}
extern "C" __global__ void scan_totals(int* totals, int blocks) {
  int before = 0;
  for (int b = 0; b < blocks; ++b) {
    const int here = totals[b];
    totals[b] = before;
    before += here;
  }
}
extern "C" __global__ void scan_blocks(const int* x, const int* totals, int* y, int n) {
  __shared__ int warp_totals[4];
  const int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int own = i < n ? x[i] : 0;
  int sum = own;
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(kAll, sum, step);
    if (lane >= step) sum += before;
  }
  if (lane == 31) warp_totals[warp] = sum;
  __syncthreads();
  for (int w = 0; w < warp; ++w) sum += warp_totals[w];
  if (i < n) y[i] = totals[blockIdx.x] + sum - own;
}

extern "C" __global__ void running_max(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float most = -infinity();
  for (int c = 0; c < cols; ++c) y[row * cols + c] = most = larger(most, x[row * cols + c]);
}

extern "C" __global__ void zero_counts(unsigned* counts) { counts[threadIdx.x] = 0; }
extern "C" __global__ void histogram(const unsigned char* x, unsigned* counts, int n) {
  __shared__ unsigned own[64];
  own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[x[i] >> 2], 1u);
  __syncthreads();
  if (own[threadIdx.x] != 0) atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

// Sorts rows of 64 by a bitonic network; NaN comes last.
extern "C" __global__ void sort_64(const float* x, float* y) {
  __shared__ float row[64];
  const int t = threadIdx.x;
  row[t] = x[blockIdx.x * 64 + t];
  for (int size = 2; size <= 64; size *= 2)
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      const int other = t ^ step;
      if (other > t) {
        const float a = row[t], b = row[other];
        const bool swapped = (t & size) == 0 ? a > b || (a != a && b == b) : b > a || (b != b && a == a);
        if (swapped) row[t] = b, row[other] = a;
      }
    }
  __syncthreads();
  y[blockIdx.x * 64 + t] = row[t];
}

// The positions of the elements above zero, in order, and how many there are; the rest is -1. One block.
extern "C" __global__ void compact(const int* x, int* y, int* count, int n) {
  __shared__ int warp_counts[4];
  int done = 0;
  for (int at = 0; at < n; at += 128) {
    const int i = at + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool keep = i < n && x[i] > 0;
    const unsigned votes = __ballot_sync(kAll, keep);
    if (lane == 0) warp_counts[warp] = __popc(votes);
    __syncthreads();
    int place = done + __popc(votes & ((1u << lane) - 1));
    for (int w = 0; w < warp; ++w) place += warp_counts[w];
    if (keep) y[place] = i;
    for (int w = 0; w < 4; ++w) done += warp_counts[w];
    __syncthreads();
  }
  for (int i = done + threadIdx.x; i < n; i += 128) y[i] = -1;
  if (threadIdx.x == 0) *count = done;
}

// Equal keys of a warp elect one lane, which counts for all of them.
extern "C" __global__ void count_by_match(const int* x, unsigned* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned active = __ballot_sync(kAll, i < n);
  if (i >= n) return;
  const unsigned same = __match_any_sync(active, x[i]);
  if (threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&counts[x[i]], static_cast<unsigned>(__popc(same)));
}
