// Blocks that wait for each other as they may: for one that has begun before them, or for all of a
// grid that every device holds at once.

extern "C" __global__ void clear_words(unsigned* words, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) words[i] = 0;
}

// The sum up to each element of what one block of 128 threads has; the whole of it in the last.
__device__ int sum_in_block(int value, int* row) {
  const int t = threadIdx.x;
  row[t] = value;
  __syncthreads();
  for (int step = 1; step < 128; step *= 2) {
    const int left = t >= step ? row[t - step] : 0;
    __syncthreads();
    row[t] += left;
    __syncthreads();
  }
  return row[t];
}

// `done[b]` is 1 when `sums[b]` holds the sum of blocks 0 to b.
__device__ void chain(int block, const int* x, int* sums, unsigned* done, int* y, int n) {
  __shared__ int row[128], before;
  const int i = block * 128 + threadIdx.x;
  const int mine = sum_in_block(i < n ? x[i] : 0, row);
  if (threadIdx.x == 127) {
    int all = 0;
    if (block > 0) {
      while (atomicAdd(&done[block - 1], 0) == 0) {
      }
      __threadfence();
      all = __ldcg(&sums[block - 1]);
    }
    before = all;
    sums[block] = all + mine;
    __threadfence();
    atomicExch(&done[block], 1);
  }
  __syncthreads();
  if (i < n) y[i] = before + mine;
}

extern "C" __global__ void chained_by_ticket(const int* x, int* sums, unsigned* done, int* y, int n) {
  __shared__ int ticket;
  if (threadIdx.x == 0) ticket = static_cast<int>(atomicAdd(&done[gridDim.x], 1));
  __syncthreads();
  chain(ticket, x, sums, done, y, n);
}

// Blocks begin in the order of their numbers.
extern "C" __global__ void chained_by_number(const int* x, int* sums, unsigned* done, int* y, int n) {
  chain(blockIdx.x, x, sums, done, y, n);
}

// The launch never has more blocks than a device holds.
extern "C" __global__ void barrier_of_few(const int* x, int* sums, unsigned* arrived, int* y, int n) {
  __shared__ int row[128], before;
  const int part = (n + gridDim.x - 1) / gridDim.x;
  const int begin = min(n, static_cast<int>(blockIdx.x) * part), end = min(n, begin + part);
  int mine = 0;
  for (int i = begin + threadIdx.x; i < end; i += 128) mine += x[i];
  mine = sum_in_block(mine, row);
  if (threadIdx.x == 127) {
    sums[blockIdx.x] = mine;
    __threadfence();
    atomicAdd(arrived, 1);
    while (atomicAdd(arrived, 0) < gridDim.x) {
    }
    __threadfence();
    int all = 0;
    for (unsigned b = 0; b < blockIdx.x; ++b) all += __ldcg(&sums[b]);
    before = all;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    int sum = before;
    for (int i = begin; i < end; ++i) y[i] = sum += x[i];
  }
}
