// Correct kernels that look like faults to a checker that knows too little.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cub/cub.cuh>

namespace cg = cooperative_groups;

// run: last_block_reduces grid=16 block=64 args=buf:x:4096,zero:partial:64,zero:count:4,zero:y:4
extern "C" __global__ void last_block_reduces(const float* x, float* partial, unsigned* count, float* y) {
  __shared__ float sums[2];
  __shared__ bool last;
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const float sum = cg::reduce(warp, x[blockIdx.x * blockDim.x + threadIdx.x], cg::plus<float>());
  if (warp.thread_rank() == 0) sums[warp.meta_group_rank()] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = sums[0] + sums[1];
    __threadfence();
    last = atomicInc(count, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || threadIdx.x >= 32) return;
  float total = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0.0f;
  for (int step = 16; step > 0; step /= 2) total += __shfl_down_sync(0xffffffffu, total, step);
  if (threadIdx.x == 0) {
    y[0] = total;
    *count = 0;
  }
}

// run: lock grid=8 block=32 args=zero:lock:4,zero:total:4
extern "C" __global__ void lock(int* mutex, int* total) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(mutex, 0, 1) != 0) {}
  __threadfence();
  *total += blockIdx.x;
  __threadfence();
  atomicExch(mutex, 0);
}

__device__ float atomic_max(float* at, float value) {
  int* const bits = reinterpret_cast<int*>(at);
  int old = *bits, assumed;
  do {
    assumed = old;
    old = atomicCAS(bits, assumed, __float_as_int(fmaxf(value, __int_as_float(assumed))));
  } while (old != assumed);
  return __int_as_float(old);
}

// run: maximum grid=4 block=128 args=buf:x:2048,zero:y:4
extern "C" __global__ void maximum(const float* x, float* y) {
  __shared__ float top;
  if (threadIdx.x == 0) top = 0.0f;
  __syncthreads();
  atomic_max(&top, x[blockIdx.x * blockDim.x + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) atomic_max(y, top);
}

// run: found_flag grid=8 block=64 args=buf:x:2048,zero:found:4
extern "C" __global__ void found_flag(const int* x, int* found) {
  if (x[blockIdx.x * blockDim.x + threadIdx.x] % 3 == 0) *found = 1;
}

// run: block_primitives grid=2 block=128 args=buf:x:4096,zero:y:4096
extern "C" __global__ void block_primitives(const int* x, int* y) {
  using Load = cub::BlockLoad<int, 128, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Scan = cub::BlockScan<int, 128>;
  using Sort = cub::BlockRadixSort<int, 128, 4>;
  using Store = cub::BlockStore<int, 128, 4, cub::BLOCK_STORE_TRANSPOSE>;
  using Reduce = cub::BlockReduce<int, 128>;
  __shared__ union {
    Load::TempStorage load;
    Scan::TempStorage scan;
    Sort::TempStorage sort;
    Store::TempStorage store;
    Reduce::TempStorage reduce;
  } temp;
  int items[4];
  Load(temp.load).Load(x + blockIdx.x * 512, items, 500, 7);
  __syncthreads();
  Scan(temp.scan).InclusiveSum(items, items);
  __syncthreads();
  Sort(temp.sort).SortDescending(items);
  __syncthreads();
  const int sum = Reduce(temp.reduce).Sum(items[0], 100);
  __syncthreads();
  if (threadIdx.x == 0) items[0] += sum;
  Store(temp.store).Store(y + blockIdx.x * 512, items, 500);
}

// run: warp_primitives grid=1 block=64 args=buf:x:256,zero:y:256
extern "C" __global__ void warp_primitives(const int* x, int* y) {
  using Reduce = cub::WarpReduce<int, 16>;
  using Scan = cub::WarpScan<int>;
  using Exchange = cub::WarpExchange<int, 2, 32>;
  __shared__ Reduce::TempStorage reduce[4];
  __shared__ Scan::TempStorage scan[2];
  __shared__ Exchange::TempStorage exchange[2];
  int v = x[threadIdx.x];
  v += Reduce(reduce[threadIdx.x / 16]).Sum(v, 11);
  Scan(scan[threadIdx.x / 32]).ExclusiveSum(v, v);
  int pair[2] = {v, v + 1};
  Exchange(exchange[threadIdx.x / 32]).StripedToBlocked(pair, pair);
  y[threadIdx.x] = pair[0] - pair[1];
}

// run: groups grid=1 block=96 args=buf:x:384,zero:y:384,zero:count:4
extern "C" __global__ void groups(const int* x, int* y, int* count) {
  __shared__ int tile[96];
  auto quad = cg::tiled_partition<4>(cg::this_thread_block());
  tile[threadIdx.x] = x[threadIdx.x];
  quad.sync();
  y[threadIdx.x] = tile[threadIdx.x ^ 3];
  if (x[threadIdx.x] % 3 != 0) return;
  auto active = cg::coalesced_threads();
  int base = 0;
  if (active.thread_rank() == 0) base = atomicAdd(count, active.size());
  y[threadIdx.x] += active.shfl(base, 0) + active.thread_rank();
}

struct Padded {
  double wide;
  int narrow;
};
// run: padding grid=1 block=64 args=buf:x:1024,raw:between:1024,zero:y:1024
extern "C" __global__ void padding(const double* x, Padded* between, Padded* y) {
  between[threadIdx.x].wide = x[threadIdx.x];
  between[threadIdx.x].narrow = threadIdx.x;
  y[threadIdx.x] = between[threadIdx.x];
}

// run: read_and_thrown_away grid=1 block=64 args=zero:y:256,i32:5
extern "C" __global__ void read_and_thrown_away(float* y, int n) {
  __shared__ float tile[64];
  if (threadIdx.x < n) tile[threadIdx.x] = 1.0f;
  __syncthreads();
  const float v = tile[threadIdx.x];
  y[threadIdx.x] = threadIdx.x < n ? v : 0.0f;
}
