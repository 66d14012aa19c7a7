// Faults in what real kernels are made of: tiles, templates, headers, unions, structures, masks, locks.
// Each kernel is wrong unless FIXED is defined; test_faults.py says how the comments read.
#include <cuda_fp16.h>

#include "shifted.h"
#ifdef FIXED
#define WRONG(bad, good) good
#else
#define WRONG(bad, good) bad
#endif

// run: transpose_tile grid=2,2 block=16,16 args=buf:x:4096,zero:y:4096,i32:32
// expect: race_shared text='tile'[
extern "C" __global__ void transpose_tile(const float* x, float* y, int pitch) {
  __shared__ float tile[16][17];
  const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = x[row * pitch + column];  // OTHER
  WRONG((void)0, __syncthreads());
  y[(blockIdx.x * 16 + threadIdx.y) * pitch + blockIdx.y * 16 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];  // FAULT
}

// run: from_a_header grid=1 block=64 args=buf:x:256,zero:y:256
// expect: out_of_bounds thread=63 tensor=x offset=256 count=1 file=shifted.h
extern "C" __global__ void from_a_header(const float* x, float* y) {
  const Shifted<1> next{x};
  y[threadIdx.x] = WRONG(true, threadIdx.x < 63) ? next.at(threadIdx.x) : 0.0f;
}

// run: stencil_template grid=4 block=32,4 args=buf:x:2048,zero:y:2048,i32:32
// expect: out_of_bounds tensor=x block=0 thread=0
template <typename T, int Radius>
__device__ __forceinline__ T widest(const T* row, int i, int n) {
  T most = row[i];
  for (int d = -Radius; d <= Radius; ++d) {
    const int at = i + d;
    if (WRONG(at < n, at >= 0 && at < n)) most = max(most, row[at]);  // FAULT
  }
  return most;
}
extern "C" __global__ void stencil_template(const int* x, int* y, int n) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  y[row * n + threadIdx.x] = widest<int, 2>(x + row * n, threadIdx.x, n);
}

// run: union_reuse grid=1 block=64 args=buf:x:256,zero:y:256
// expect: race_shared text='room'
extern "C" __global__ void union_reuse(const float* x, float* y) {
  __shared__ union {
    float values[64];
    int counts[64];
  } room;
  room.values[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const float v = room.values[63 - threadIdx.x];  // OTHER
  WRONG((void)0, __syncthreads());
  room.counts[threadIdx.x] = v > 3.0f;  // FAULT
  __syncthreads();
  y[threadIdx.x] = v + room.counts[threadIdx.x ^ 1];
}

// run: dynamic_too_small grid=1 block=64 shared=256 args=buf:x:256,zero:y:256
// expect: out_of_bounds thread=32 text=shared~memory,~which~has~256~bytes
extern "C" __global__ void dynamic_too_small(const float* x, float* y) {
  extern __shared__ float room[];
  float* const sums = room + WRONG(32, 0);
  sums[threadIdx.x] = x[threadIdx.x];  // FAULT
  __syncthreads();
  y[threadIdx.x] = sums[threadIdx.x];
}

// run: half_pairs grid=1 block=32 args=one:x:256,zero:y:256,i32:1
// expect: misaligned thread=0 tensor=x offset=2
extern "C" __global__ void half_pairs(const __half* x, __half2* y, int shift) {
  const __half2* pairs = reinterpret_cast<const __half2*>(x + WRONG(shift, 2 * shift));
  y[threadIdx.x] = __hadd2(pairs[threadIdx.x % 31], pairs[0]);  // FAULT
}

struct Item {
  int key;
  float weight;
};
// run: structure_in_part grid=1 block=32 args=raw:items:256,zero:y:128
// expect: uninitialized tensor=items
extern "C" __global__ void structure_in_part(Item* items, float* y) {
  items[threadIdx.x].key = threadIdx.x;
  WRONG((void)0, items[threadIdx.x].weight = 1.0f);
  __syncwarp();
  const Item mine = items[threadIdx.x ^ 1];  // FAULT
  y[threadIdx.x] = mine.key + mine.weight;
}

// run: group_of_eight grid=1 block=32 args=buf:x:128,zero:y:128
// expect: illegal_mask
extern "C" __global__ void group_of_eight(const int* x, int* y) {
  int v = x[threadIdx.x];
  if (threadIdx.x < WRONG(16, 8)) v = __reduce_add_sync(0xffu, v);  // FAULT
  y[threadIdx.x] = v;
}

// run: left_early grid=1 block=64 args=buf:x:200,zero:y:256,i32:50
// expect: uninitialized text='tile'[63]
extern "C" __global__ void left_early(const float* x, float* y, int n) {
  __shared__ float tile[64];
  if (WRONG(threadIdx.x >= n, false)) return;
  tile[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0.0f;
  __syncthreads();
  y[threadIdx.x] = tile[63 - threadIdx.x];  // FAULT
}

// run: counter_read_plainly grid=1 block=64 args=zero:y:256
// expect: race_shared text='done'
extern "C" __global__ void counter_read_plainly(int* y) {
  __shared__ int done;
  if (threadIdx.x == 0) done = 0;
  __syncthreads();
  atomicAdd(&done, 1);  // OTHER
  WRONG(__syncwarp(), __syncthreads());
  y[threadIdx.x] = done;  // FAULT
}

// run: scan_in_place grid=1 block=64 args=buf:x:256,zero:y:256
// expect: race_shared text='sums'[
extern "C" __global__ void scan_in_place(const int* x, int* y) {
  __shared__ int sums[64];
  sums[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  for (int step = 1; step < 64; step *= 2) {
    const int before = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;  // OTHER
    WRONG((void)0, __syncthreads());
    sums[threadIdx.x] += before;  // FAULT
    __syncthreads();
  }
  y[threadIdx.x] = sums[threadIdx.x];
}

// run: histogram_in_registers grid=1 block=32 args=buf:x:128,zero:y:128
// expect: out_of_bounds text=local~memory
extern "C" __global__ void histogram_in_registers(const int* x, int* y) {
  int counts[8] = {};
  for (int i = 0; i < 32; ++i) counts[x[i] & WRONG(15, 7)] += 1;  // FAULT
  int most = 0;
  for (int i = 0; i < 8; ++i) most = max(most, counts[i]);
  y[threadIdx.x] = most;
}

// run: one_before_the_first grid=1 block=32 args=buf:x:128,zero:y:128
// expect: out_of_bounds thread=0 tensor= count=1 text=0~+~-1~does~not~fit~unsigned~32~bits
extern "C" __global__ void one_before_the_first(const float* x, float* y) {
  const unsigned before = threadIdx.x - 1;
  if (WRONG(true, threadIdx.x > 0)) y[threadIdx.x] = x[before];  // FAULT
}

// run: lock_kept grid=4 block=32 args=zero:mutex:4,zero:total:4
// expect: deadlock text=reads~'mutex'~element~0,~which~is~1
extern "C" __global__ void lock_kept(int* mutex, int* total) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(mutex, 0, 1) != 0) {  // FAULT
  }
  __threadfence();
  *total += 1;
  __threadfence();
  WRONG((void)0, atomicExch(mutex, 0));
}

// run: flag_of_the_next grid=4 block=64 args=zero:flags:16
// expect: deadlock text=reads~'flags'~element
extern "C" __global__ void flag_of_the_next(volatile int* flags) {
  if (threadIdx.x == 0) {
    const int next = (blockIdx.x + 1) % gridDim.x;
    WRONG((void)0, flags[blockIdx.x] = 1);
    while (flags[next] == 0) {  // FAULT
    }
    flags[blockIdx.x] = 1;
  }
  __syncthreads();
}
