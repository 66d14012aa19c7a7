// Correct kernels whose threads wait for each other, in warps, blocks and the grid: none may be
// flagged in any order of execution.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/atomic>
#include <cuda/barrier>

namespace cg = cooperative_groups;
constexpr unsigned kAll = 0xffffffffu;

// run: shuffle_of_a_prefix grid=1 block=32 args=buf:x:128,zero:y:128,i32:16
extern "C" __global__ void shuffle_of_a_prefix(const int* x, int* y, int n) {
  const int t = threadIdx.x;
  if (t < n) {
    int v = x[t];
    v += __shfl_xor_sync(kAll, v, 8);
    y[t] = v;
  }
}

// run: shuffle_behind_a_store_and_return grid=1 block=32 args=buf:x:128,zero:y:128,i32:16
extern "C" __global__ void shuffle_behind_a_store_and_return(const int* x, int* y, int n) {
  const int t = threadIdx.x;
  if (t >= n) {
    y[t] = -1;
    return;
  }
  int v = x[t];
  v += __shfl_xor_sync(kAll, v, 8);
  y[t] = v;
}

// run: votes_after_returns grid=2 block=96 args=buf:x:768,zero:y:768,i32:150
extern "C" __global__ void votes_after_returns(const int* x, int* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int v = x[i];
  if (v % 7 == 3) {
    y[i] = 0;
    return;
  }
  const unsigned odd = __ballot_sync(kAll, v & 1);
  const int any = __any_sync(kAll, v > 100);
  __syncwarp();
  y[i] = __popc(odd) + any + __reduce_add_sync(kAll, v);
}

// run: barrier_after_returns grid=1 block=64 args=buf:x:256,zero:y:256,i32:40
extern "C" __global__ void barrier_after_returns(const int* x, int* y, int n) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  if (t >= n) {
    y[t] = -1;
    return;
  }
  s[t] = x[t];
  __syncthreads();
  y[t] = s[n - 1 - t];
}

// run: barriers_in_a_loop_after_returns grid=2 block=64 args=buf:x:512,zero:y:512,i32:40
extern "C" __global__ void barriers_in_a_loop_after_returns(const int* x, int* y, int n) {
  __shared__ int s[64];
  const int t = threadIdx.x, i = blockIdx.x * 64 + t;
  if (t >= n) return;
  int v = x[i];
  for (int step = 1; step < n; step *= 2) {
    s[t] = v;
    __syncthreads();
    if (t >= step) v += s[t - step];
    __syncthreads();
  }
  y[i] = v;
}

__device__ __noinline__ int left_of(int* s, int v) {
  s[threadIdx.x] = v;
  __syncthreads();
  return threadIdx.x == 0 ? 0 : s[threadIdx.x - 1];
}

// run: barrier_in_a_call_after_returns grid=1 block=64 args=buf:x:256,zero:y:256,i32:40
extern "C" __global__ void barrier_in_a_call_after_returns(const int* x, int* y, int n) {
  __shared__ int s[64];
  if (threadIdx.x >= n) return;
  y[threadIdx.x] = left_of(s, x[threadIdx.x]);
}

// run: substitution_by_tiles grid=2 block=256 args=one:a:32768,one:x:32768,zero:y:32768,i32:64
extern "C" __global__ void substitution_by_tiles(const float* a, const float* x, float* y, int size) {
  __shared__ float rows[64][64];
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  const float* from = x + blockIdx.x * size * size;
  float* to = y + blockIdx.x * size * size;
  for (int i = threadIdx.x; i < size * size; i += blockDim.x) rows[i / size][i % size] = from[i];
  block.sync();
  for (int c = 0; c < size; c += 8) {
    for (int row = tile.meta_group_rank(); row < size; row += tile.meta_group_size()) {
      for (int k = 0; k < 8; ++k) {
        float sum = 0.0f;
        for (int t = tile.thread_rank(); t < size; t += tile.size()) {
          if (t < c + k) continue;
          sum += rows[row][t] * a[t * size + c + k];
        }
        sum = cg::reduce(tile, sum, cg::plus<float>());
        if (tile.thread_rank() == 0) to[row * size + c + k] = sum;
      }
    }
    block.sync();
  }
}

// run: aggregated_counter grid=4 block=128 args=buf:x:2048,zero:y:2048,zero:counter:4
extern "C" __global__ void aggregated_counter(const int* x, int* y, int* counter) {
  const int i = blockIdx.x * 128 + threadIdx.x;
  if (x[i] % 3 != 0) return;
  const auto group = cg::coalesced_threads();
  int first = 0;
  if (group.thread_rank() == 0) first = atomicAdd(counter, group.num_threads());
  y[group.shfl(first, 0) + group.thread_rank()] = x[i];
}

// run: aggregated_by_mask grid=4 block=128 args=buf:x:2048,zero:y:2048,zero:counter:16
extern "C" __global__ void aggregated_by_mask(const int* x, int* y, int* counter) {
  const int i = blockIdx.x * 128 + threadIdx.x, lane = threadIdx.x % 32, key = x[i] % 4;
  const unsigned peers = __match_any_sync(kAll, key);
  const int leader = __ffs(peers) - 1;
  int first = 0;
  if (lane == leader) first = atomicAdd(counter + key, __popc(peers));
  first = __shfl_sync(peers, first, leader);
  y[key * 128 + first + __popc(peers & ((1u << lane) - 1))] = x[i];
}

// run: last_block_sums grid=6 block=64 args=buf:x:1536,zero:part:24,zero:y:4,zero:done:4
extern "C" __global__ void last_block_sums(const int* x, volatile int* part, int* y, unsigned* done) {
  __shared__ int warps[2];
  __shared__ bool last;
  const int sum = __reduce_add_sync(kAll, x[blockIdx.x * 64 + threadIdx.x]);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    part[blockIdx.x] = warps[0] + warps[1];
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  const int mine = threadIdx.x < gridDim.x ? part[threadIdx.x] : 0;
  const int total = __reduce_add_sync(kAll, mine);
  if (threadIdx.x == 0) *y = total;
}

// run: look_back grid=8 block=64 args=buf:x:2048,zero:y:2048,zero:state:64,zero:ticket:4
extern "C" __global__ void look_back(const int* x, int* y, unsigned long long* state, int* ticket) {
  __shared__ int number, before, warps[2];
  if (threadIdx.x == 0) number = atomicAdd(ticket, 1);
  __syncthreads();
  const int block = number, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int v = x[block * 64 + threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(kAll, v, step);
    if (lane >= step) v += other;
  }
  if (lane == 31) warps[warp] = v;
  __syncthreads();
  if (warp == 1) v += warps[0];
  if (threadIdx.x == 0) {
    const unsigned long long own = warps[0] + warps[1];
    cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> mine(state[block]);
    mine.store((block == 0 ? 2ull : 1ull) << 32 | own, cuda::memory_order_release);
    unsigned long long sum = 0;
    for (int at = block - 1; at >= 0;) {
      cuda::atomic_ref<unsigned long long, cuda::thread_scope_device> theirs(state[at]);
      const unsigned long long word = theirs.load(cuda::memory_order_acquire);
      if (word >> 32 == 0) continue;
      sum += word & 0xffffffffu;
      if (word >> 32 == 2) break;
      --at;
    }
    if (block != 0) mine.store(2ull << 32 | (sum + own), cuda::memory_order_release);
    before = static_cast<int>(sum);
  }
  __syncthreads();
  y[block * 64 + threadIdx.x] = v + before;
}

// run: persistent_workers grid=3 block=64 args=buf:x:4096,zero:y:4096,zero:next:4,i32:16
extern "C" __global__ void persistent_workers(const int* x, int* y, int* next, int tiles) {
  __shared__ int tile;
  for (;;) {
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);
    __syncthreads();
    const int mine = tile;
    __syncthreads();
    if (mine >= tiles) return;
    y[mine * 64 + threadIdx.x] = 2 * x[mine * 64 + threadIdx.x];
  }
}

// run: warps_that_fetch_work grid=2 block=96 args=buf:x:2048,zero:y:2048,zero:next:4,i32:16
extern "C" __global__ void warps_that_fetch_work(const int* x, int* y, int* next, int rows) {
  const int lane = threadIdx.x % 32;
  while (true) {
    int row = 0;
    if (lane == 0) row = atomicAdd(next, 1);
    row = __shfl_sync(kAll, row, 0);
    if (row >= rows) break;
    y[row * 32 + lane] = __reduce_max_sync(kAll, x[row * 32 + lane]);
  }
}

// run: bounded_lock grid=4 block=64 args=zero:y:4,zero:lock:4
extern "C" __global__ void bounded_lock(int* y, int* lock) {
  if (threadIdx.x % 32 != 0) return;
  for (int tries = 0; tries < 1000000; ++tries) {
    if (atomicCAS(lock, 0, 1) != 0) continue;
    __threadfence();
    *reinterpret_cast<volatile int*>(y) = *reinterpret_cast<volatile int*>(y) + 1;
    __threadfence();
    atomicExch(lock, 0);
    return;
  }
}

// run: lanes_take_a_lock grid=2 block=64 args=zero:y:4,zero:lock:4
extern "C" __global__ void lanes_take_a_lock(int* y, int* lock) {
  bool done = false;
  while (!done) {
    if (atomicCAS(lock, 0, 1) == 0) {
      __threadfence();
      *reinterpret_cast<volatile int*>(y) = *reinterpret_cast<volatile int*>(y) + 1;
      __threadfence();
      atomicExch(lock, 0);
      done = true;
    }
  }
}

// run: block_barrier_phases grid=2 block=96 args=buf:x:768,zero:y:768
extern "C" __global__ void block_barrier_phases(const int* x, int* y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  __shared__ int s[96];
  const int t = threadIdx.x, i = blockIdx.x * 96 + t;
  if (t == 0) init(&ready, 96);
  __syncthreads();
  int v = x[i];
  for (int round = 0; round < 4; ++round) {
    s[t] = v;
    ready.arrive_and_wait();
    v = s[(t + 1) % 96];
    ready.arrive_and_wait();
  }
  y[i] = v;
}

// run: producers_and_consumers grid=2 block=128 args=buf:x:2048,zero:y:2048
extern "C" __global__ void producers_and_consumers(const int* x, int* y) {
  __shared__ int s[2][64];
  const int t = threadIdx.x % 64;
  if (threadIdx.x < 64) {
    for (int k = 0; k < 4; ++k) {
      if (k >= 2) asm volatile("bar.sync %0, 128;" ::"r"(3 + k % 2) : "memory");
      s[k % 2][t] = x[(blockIdx.x * 4 + k) * 64 + t];
      asm volatile("bar.arrive %0, 128;" ::"r"(1 + k % 2) : "memory");
    }
  } else {
    for (int k = 0; k < 4; ++k) {
      asm volatile("bar.sync %0, 128;" ::"r"(1 + k % 2) : "memory");
      y[(blockIdx.x * 4 + k) * 64 + t] = s[k % 2][63 - t];
      if (k < 2) asm volatile("bar.arrive %0, 128;" ::"r"(3 + k % 2) : "memory");
    }
  }
}

// run: halves_with_their_own_masks grid=1 block=64 args=buf:x:256,zero:y:256
extern "C" __global__ void halves_with_their_own_masks(const int* x, int* y) {
  const int lane = threadIdx.x % 32;
  int v = x[threadIdx.x];
  if (lane < 16) {
    for (int step = 8; step > 0; step /= 2) v += __shfl_xor_sync(0xffffu, v, step);
  } else {
    for (int step = 1; step < 16; step *= 2) v = max(v, __shfl_xor_sync(0xffff0000u, v, step));
    __syncwarp(0xffff0000u);
  }
  __syncwarp();
  y[threadIdx.x] = v + __shfl_sync(kAll, v, 31 - lane);
}

// run: active_lanes grid=1 block=64 args=buf:x:256,zero:y:256
extern "C" __global__ void active_lanes(const int* x, int* y) {
  const int v = x[threadIdx.x];
  int out = -1;
  if (v % 5 != 0) {
    const unsigned here = __activemask();
    const int leader = __ffs(here) - 1;
    out = __shfl_sync(here, v, leader) >= 0 ? __popc(__ballot_sync(here, true)) > 0 : 0;
  }
  y[threadIdx.x] = out;
}

// run: trip_counts_by_lane grid=1 block=32 args=buf:x:128,zero:y:128
extern "C" __global__ void trip_counts_by_lane(const int* x, int* y) {
  const int n = x[threadIdx.x] % 5;
  int sum = 0;
  unsigned mask = kAll;
  for (int k = 0;; ++k) {
    mask = __ballot_sync(mask, k < n);
    if (k >= n) break;
    sum += __reduce_add_sync(mask, k);
  }
  __syncwarp();
  y[threadIdx.x] = sum;
}

// run: small_tiles grid=2 block=64 args=buf:x:512,zero:y:512
extern "C" __global__ void small_tiles(const int* x, int* y) {
  const auto block = cg::this_thread_block();
  const auto four = cg::tiled_partition<4>(block);
  const int i = blockIdx.x * 64 + threadIdx.x;
  int v = x[i];
  if (four.meta_group_rank() % 2 == 0) {
    v = cg::reduce(four, v, cg::plus<int>());
    four.sync();
  } else {
    v = cg::inclusive_scan(four, v, cg::plus<int>());
  }
  y[i] = v + block.thread_rank();
}

// run: split_by_label grid=1 block=64 args=buf:x:256,zero:y:256
extern "C" __global__ void split_by_label(const int* x, int* y) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const auto some = cg::labeled_partition(warp, x[threadIdx.x] % 3);
  y[threadIdx.x] = cg::reduce(some, x[threadIdx.x], cg::plus<int>()) + some.thread_rank();
}

// run: one_warp_finishes grid=1 block=128 args=buf:x:512,zero:y:4
extern "C" __global__ void one_warp_finishes(const int* x, int* y) {
  __shared__ int parts[4];
  int v = __reduce_add_sync(kAll, x[threadIdx.x]);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x >= 4) return;
  v = parts[threadIdx.x];
  v += __shfl_down_sync(0xfu, v, 2);
  v += __shfl_down_sync(0xfu, v, 1);
  if (threadIdx.x == 0) *y = v;
}

// run: flags_between_warps grid=1 block=64 args=buf:x:128,zero:y:128
extern "C" __global__ void flags_between_warps(const int* x, int* y) {
  __shared__ int data[32];
  __shared__ cuda::atomic<int, cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) ready.store(0, cuda::memory_order_relaxed);
  __syncthreads();
  const int lane = threadIdx.x % 32;
  if (threadIdx.x < 32) {
    data[lane] = x[lane];
    __syncwarp();
    if (lane == 0) ready.store(1, cuda::memory_order_release);
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) continue;
    y[lane] = data[31 - lane];
  }
}

// run: a_third_drops_out grid=1 block=96 args=buf:x:384,zero:y:384
extern "C" __global__ void a_third_drops_out(const int* x, int* y) {
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  __shared__ int s[96];
  const int t = threadIdx.x;
  if (t == 0) init(&ready, 96);
  __syncthreads();
  if (t % 3 == 0) {
    ready.arrive_and_drop();
    return;
  }
  const int other = t % 3 == 1 ? t + 1 : t - 1;
  for (int k = 0; k < 3; ++k) {
    s[t] = x[t] + k;
    ready.arrive_and_wait();
    y[t] = s[other];
    ready.arrive_and_wait();
  }
}

// run: every_other_tile_returns grid=1 block=64 args=buf:x:256,zero:y:256
extern "C" __global__ void every_other_tile_returns(const int* x, int* y) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  if (tile.meta_group_rank() % 2 != 0) {
    y[threadIdx.x] = 7;
    return;
  }
  int v = x[threadIdx.x];
  for (int step = 8; step > 0; step /= 2) v += tile.shfl_xor(v, step);
  tile.sync();
  y[threadIdx.x] = v;
}

// run: groups_of_those_left grid=2 block=64 args=buf:x:512,zero:y:512
extern "C" __global__ void groups_of_those_left(const int* x, int* y) {
  int most = 0;
  for (int left = x[blockIdx.x * 64 + threadIdx.x] % 9; left > 0; --left) {
    const auto group = cg::coalesced_threads();
    most = max(most, cg::reduce(group, left, cg::greater<int>()));
  }
  y[blockIdx.x * 64 + threadIdx.x] = most > 0;
}

// run: lanes_wait_for_each_others_slots grid=2 block=64 args=zero:slots:4096,zero:ends:8,zero:y:4
extern "C" __global__ void lanes_wait_for_each_others_slots(int* slots, int* ends, int* y) {
  atomicExch(slots + atomicAdd(ends, 1), blockIdx.x * 64 + threadIdx.x + 1);
  const int mine = atomicAdd(ends + 1, 1);
  int value = 0;
  while ((value = atomicAdd(slots + mine, 0)) == 0) continue;
  atomicAdd(y, value);
}

// run: counting_barriers_after_returns grid=1 block=96 args=buf:x:384,zero:y:384,i32:70
extern "C" __global__ void counting_barriers_after_returns(const int* x, int* y, int n) {
  if (threadIdx.x >= n) return;
  const int v = x[threadIdx.x];
  y[threadIdx.x] = __syncthreads_count(v & 1) + __syncthreads_or(v > 60) + __syncthreads_and(v >= 0);
}
