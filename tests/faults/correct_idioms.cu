// Correct kernels of the kinds whose faults idioms.cu and pipelines.cu have.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/latch>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <mma.h>

namespace cg = cooperative_groups;
using namespace nvcuda;

// run: tile_with_halo grid=4 block=16,8 args=buf:x:2048,zero:y:2048,i32:64
extern "C" __global__ void tile_with_halo(const float* x, float* y, int pitch) {
  __shared__ float tile[10][18];
  const int column = blockIdx.x * 16 + threadIdx.x;
  for (int row = threadIdx.y; row < 10; row += 8)
    for (int at = threadIdx.x; at < 18; at += 16) {
      const int from = blockIdx.x * 16 + at - 1, line = row - 1;
      tile[row][at] = from >= 0 && from < pitch && line >= 0 && line < 8 ? x[line * pitch + from] : 0.0f;
    }
  __syncthreads();
  y[threadIdx.y * pitch + column] = tile[threadIdx.y][threadIdx.x + 1] + tile[threadIdx.y + 2][threadIdx.x + 1] +
                                    tile[threadIdx.y + 1][threadIdx.x] + tile[threadIdx.y + 1][threadIdx.x + 2];
}

// run: carved grid=2 block=96 shared=1152 args=buf:x:768,zero:y:768
extern "C" __global__ void carved(const float* x, float* y) {
  extern __shared__ __align__(16) unsigned char room[];
  double* const wide = reinterpret_cast<double*>(room);
  unsigned short* const narrow = reinterpret_cast<unsigned short*>(wide + 96);
  unsigned char* const flags = reinterpret_cast<unsigned char*>(narrow + 96);
  const int i = blockIdx.x * 96 + threadIdx.x;
  wide[threadIdx.x] = x[i];
  narrow[threadIdx.x] = static_cast<unsigned short>(threadIdx.x);
  flags[threadIdx.x] = threadIdx.x & 1;
  __syncthreads();
  const int other = 95 - threadIdx.x;
  y[i] = static_cast<float>(wide[other]) + narrow[other] + flags[other];
}

// run: union_in_turns grid=1 block=128 args=buf:x:512,zero:y:512
extern "C" __global__ void union_in_turns(const int* x, int* y) {
  __shared__ union {
    int keys[128];
    struct {
      int sums[4];
      int total;
    } reduced;
  } room;
  room.keys[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  int v = room.keys[threadIdx.x ^ 127];
  __syncthreads();
  const int sum = __reduce_add_sync(0xffffffffu, v);
  if (threadIdx.x % 32 == 0) room.reduced.sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) room.reduced.total = room.reduced.sums[0] + room.reduced.sums[1] + room.reduced.sums[2] + room.reduced.sums[3];
  __syncthreads();
  y[threadIdx.x] = v + room.reduced.total;
}

// run: halves_with_a_tail grid=1 block=32 args=one:x:94,zero:y:94,i32:47
extern "C" __global__ void halves_with_a_tail(const __half* x, __half* y, int n) {
  const int pair = threadIdx.x;
  if (2 * pair + 1 < n) {
    reinterpret_cast<__half2*>(y)[pair] = __hadd2(reinterpret_cast<const __half2*>(x)[pair], __float2half2_rn(1.0f));
  } else if (2 * pair < n) {
    y[2 * pair] = __hadd(x[2 * pair], __float2half(1.0f));
  }
}

struct Mixed {
  char tag;
  short small;
  double wide;
  int last;
};
// run: structures_move grid=1 block=64 args=raw:between:1536,zero:y:1536
extern "C" __global__ void structures_move(Mixed* between, Mixed* y) {
  __shared__ Mixed staged[64];
  Mixed one;
  one.tag = 'a';
  one.small = static_cast<short>(threadIdx.x);
  one.wide = 0.5 * threadIdx.x;
  one.last = -1;
  staged[threadIdx.x] = one;
  __syncthreads();
  between[threadIdx.x] = staged[63 - threadIdx.x];
  __syncthreads();
  y[threadIdx.x] = between[threadIdx.x ^ 32];
}

// run: masks_that_fit grid=1 block=64 args=buf:x:256,zero:y:256
extern "C" __global__ void masks_that_fit(const int* x, int* y) {
  const int v = x[threadIdx.x];
  const unsigned odd = __ballot_sync(0xffffffffu, v & 1);
  int out = 0;
  if (v & 1) {
    out = __shfl_sync(odd, v, __ffs(odd) - 1);
    out += __reduce_max_sync(odd, v);
    __syncwarp(odd);
  } else {
    out = __popc(__match_any_sync(~odd, v / 4));
  }
  y[threadIdx.x] = out;
}

// run: warps_leave_early grid=1 block=128 args=buf:x:512,zero:y:512,i32:70
extern "C" __global__ void warps_leave_early(const float* x, float* y, int n) {
  __shared__ float tile[128];
  const int whole = (n + 31) / 32 * 32;
  if (threadIdx.x >= whole) return;
  tile[threadIdx.x] = threadIdx.x < n ? x[threadIdx.x] : 0.0f;
  __syncthreads();
  if (threadIdx.x < n) y[threadIdx.x] = tile[n - 1 - threadIdx.x];
}

// run: three_stages grid=2 block=64 args=buf:x:8192,zero:y:512
extern "C" __global__ void three_stages(const float* x, float* y) {
  constexpr int kStages = 3, kTiles = 16;
  __shared__ __align__(16) float stage[kStages][64];
  const float* const from = x + blockIdx.x * 1024;
  for (int tile = 0; tile < kStages - 1; ++tile) {
    if (threadIdx.x < 16) __pipeline_memcpy_async(&stage[tile][4 * threadIdx.x], from + tile * 64 + 4 * threadIdx.x, 16);
    __pipeline_commit();
  }
  float sum = 0.0f;
  for (int tile = 0; tile < kTiles; ++tile) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    const int next = tile + kStages - 1;
    if (next < kTiles && threadIdx.x < 16)
      __pipeline_memcpy_async(&stage[next % kStages][4 * threadIdx.x], from + next * 64 + 4 * threadIdx.x, 16);
    __pipeline_commit();
    sum += stage[tile % kStages][63 - threadIdx.x];
  }
  y[blockIdx.x * 64 + threadIdx.x] = sum;
}

// run: tail_never_read grid=1 block=64 args=raw:x:256,zero:y:256,i32:40
extern "C" __global__ void tail_never_read(float* x, float* y, int n) {
  __shared__ __align__(16) float tile[64];
  if (threadIdx.x < n) x[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x < 16) __pipeline_memcpy_async(&tile[4 * threadIdx.x], x + 4 * threadIdx.x, 16);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
  const float v = tile[threadIdx.x];
  y[threadIdx.x] = threadIdx.x < n ? v : 0.0f;
}

// run: tensor_tiles grid=2 block=64 args=one:a:1024,one:b:512,zero:c:2048
extern "C" __global__ void tensor_tiles(const __half* a, const __half* b, float* c) {
  __shared__ __align__(32) __half left[2][256];
  __shared__ __align__(32) float out[2][256];
  const int warp = threadIdx.x / 32;
  for (int i = threadIdx.x; i < 512; i += 64) left[i / 256][i % 256] = __hadd(a[i], __float2half(0.5f * (i % 3)));
  __syncthreads();
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> x;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> y;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::load_matrix_sync(x, left[1 - warp], 16);
  wmma::load_matrix_sync(y, b, 16);
  wmma::fill_fragment(sum, 0.0f);
  wmma::mma_sync(sum, x, y, sum);
  wmma::store_matrix_sync(out[warp], sum, 16, wmma::mem_row_major);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 64) c[blockIdx.x * 256 + i] = out[0][i] + out[1][i];
}

// run: tickets grid=12 block=64 args=zero:next:4,zero:serving:4,zero:total:4
extern "C" __global__ void tickets(unsigned* next, volatile unsigned* serving, unsigned* total) {
  if (threadIdx.x == 0) {
    const unsigned mine = atomicAdd(next, 1u);
    while (*serving != mine) __nanosleep(20);
    __threadfence();
    *total += mine;
    __threadfence();
    *serving = mine + 1;
  }
  __syncthreads();
}

// run: look_back grid=24 block=32 args=buf:x:3072,zero:y:3072,zero:state:192,zero:order:4
extern "C" __global__ void look_back(const int* x, int* y, unsigned long long* state, unsigned* order) {
  __shared__ unsigned tile;
  if (threadIdx.x == 0) tile = atomicAdd(order, 1u);
  __syncthreads();
  int sum = x[tile * 32 + threadIdx.x];
  for (int step = 1; step < 32; step *= 2) {
    const int before = __shfl_up_sync(0xffffffffu, sum, step);
    if (threadIdx.x >= step) sum += before;
  }
  const int all = __shfl_sync(0xffffffffu, sum, 31);
  __shared__ int base;
  if (threadIdx.x == 0) {
    volatile unsigned long long* const of = state;
    of[tile] = 1ull << 32 | static_cast<unsigned>(all);  // The tile's own sum is there.
    int before = 0;
    for (int at = static_cast<int>(tile) - 1; at >= 0; --at) {
      unsigned long long seen;
      do seen = of[at];
      while (seen >> 32 == 0);
      before += static_cast<int>(seen);
      if (seen >> 32 == 2) break;
    }
    of[tile] = 2ull << 32 | static_cast<unsigned>(before + all);
    base = before;
  }
  __syncthreads();
  y[tile * 32 + threadIdx.x] = base + sum;
}

// run: all_meet grid=10 block=64 args=buf:x:2560,zero:y:2560,zero:arrived:4
extern "C" __global__ void all_meet(const int* x, int* y, unsigned* arrived) {
  y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x] + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (atomicAdd(arrived, 0u) < gridDim.x) {
    }
    __threadfence();
  }
  __syncthreads();
  const int other = (blockIdx.x + 1) % gridDim.x * 64 + threadIdx.x;
  volatile int* const seen = y + other;
  if (*seen == -5) y[0] = 0;
}

// run: last_block_reads_all grid=9 block=64 args=buf:x:2304,zero:part:36,zero:done:4,zero:y:4
extern "C" __global__ void last_block_reads_all(const int* x, int* part, unsigned* done, int* y) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    part[blockIdx.x] = x[blockIdx.x * 64];
    __threadfence();
    last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  int sum = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) sum += static_cast<volatile int*>(part)[b] + __ldcg(part + b);
  *y = sum;
}

// run: all_threads_fence grid=5 block=64 args=buf:x:1280,zero:part:1280,zero:done:4,zero:y:1280
extern "C" __global__ void all_threads_fence(const int* x, int* part, unsigned* done, int* y) {
  __shared__ bool last;
  part[blockIdx.x * 64 + threadIdx.x] = 2 * x[blockIdx.x * 64 + threadIdx.x];
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(done, 1u) == gridDim.x - 1;
  __syncthreads();
  if (!last) return;
  volatile int* const all = part;
  for (unsigned i = threadIdx.x; i < gridDim.x * 64; i += 64) y[i] = all[i];
}

// run: producer_and_consumer grid=1 block=64 args=buf:x:1024,zero:y:1024
extern "C" __global__ void producer_and_consumer(const int* x, int* y) {
  __shared__ int slot[2][32];
  const int lane = threadIdx.x % 32;
  for (int round = 0; round < 8; ++round) {
    const int full = 1 + (round & 1), empty = 3 + (round & 1);
    if (threadIdx.x < 32) {
      if (round >= 2) asm volatile("barrier.sync %0, 64;" ::"r"(empty) : "memory");
      slot[round & 1][lane] = x[round * 32 + lane];
      asm volatile("barrier.arrive %0, 64;" ::"r"(full) : "memory");
    } else {
      asm volatile("barrier.sync %0, 64;" ::"r"(full) : "memory");
      y[round * 32 + lane] = slot[round & 1][31 - lane];
      if (round < 6) asm volatile("barrier.arrive %0, 64;" ::"r"(empty) : "memory");
    }
  }
}

// run: groups_of_two_warps grid=2 block=128 args=buf:x:1024,zero:y:1024
extern "C" __global__ void groups_of_two_warps(const float* x, float* y) {
  __shared__ cg::block_tile_memory<128> memory;
  __shared__ float tile[128];
  auto group = cg::tiled_partition<64>(cg::this_thread_block(memory));
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int round = 0; round < 3; ++round) {
    tile[threadIdx.x] = x[i] + round;
    group.sync();
    const float other = tile[group.meta_group_rank() * 64 + 63 - group.thread_rank()];
    y[i] = cg::reduce(group, other, cg::plus<float>());
    group.sync();
  }
}

// run: flag_with_release grid=2 block=64 args=buf:x:512,zero:y:512
extern "C" __global__ void flag_with_release(const float* x, float* y) {
  __shared__ float data[32];
  __shared__ int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  cuda::atomic_ref<int, cuda::thread_scope_block> ready(flag);
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x < 32) {
    data[threadIdx.x] = x[i];
    __syncwarp();
    if (threadIdx.x == 0) ready.store(1, cuda::memory_order_release);
    y[i] = x[i];
  } else {
    while (ready.load(cuda::memory_order_acquire) == 0) {
    }
    y[i] = data[63 - threadIdx.x];
  }
}

// run: latch_of_the_block grid=2 block=64 args=buf:x:512,zero:y:512
extern "C" __global__ void latch_of_the_block(const float* x, float* y) {
  __shared__ float data[64];
  __shared__ alignas(cuda::latch<cuda::thread_scope_block>) char place[sizeof(cuda::latch<cuda::thread_scope_block>)];
  auto* const latch = reinterpret_cast<cuda::latch<cuda::thread_scope_block>*>(place);
  if (threadIdx.x == 0) new (latch) cuda::latch<cuda::thread_scope_block>(64);
  __syncthreads();
  const int i = blockIdx.x * 64 + threadIdx.x;
  data[threadIdx.x] = x[i];
  latch->arrive_and_wait();
  y[i] = data[63 - threadIdx.x];
}

// Each value is at hand some time, and an old one does no harm: nobody waits for it.
// run: neighbours_as_they_come grid=8 block=32 args=zero:value:32,zero:arrived:4,zero:y:32
extern "C" __global__ void neighbours_as_they_come(volatile int* value, int* arrived, int* y) {
  if (threadIdx.x != 0) return;
  int seen = 0;
  for (int round = 0; round < 4; ++round) {
    value[blockIdx.x] = round;
    atomicAdd(arrived, 1);
    seen = max(seen, value[(blockIdx.x + 1) % 8] > 99);
  }
  y[blockIdx.x] = seen;
}

// Two flags, of which the second is waited for too.
// run: flags_in_turn grid=2 block=32 args=zero:first:4,zero:second:4,zero:y:4
extern "C" __global__ void flags_in_turn(volatile int* first, volatile int* second, int* y) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *first = 1;
    *second = 1;
  } else {
    while (*second == 0) {
    }
    while (*first == 0) {
    }
    *y = 1;
  }
}

// All of a block write, and one thread fences for them behind the barrier.
// run: fence_behind_the_barrier grid=6 block=64 args=buf:x:1536,zero:part:1536,zero:ready:24,zero:y:24
extern "C" __global__ void fence_behind_the_barrier(const int* x, volatile int* part, volatile int* ready, int* y) {
  const int b = blockIdx.x;
  part[b * 64 + threadIdx.x] = x[b * 64 + threadIdx.x];
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    ready[b] = 1;
    int sum = 0;
    if (b > 0) {
      while (ready[b - 1] == 0) {
      }
      for (int i = 0; i < 64; ++i) sum += part[(b - 1) * 64 + i];
    }
    y[b] = sum;
  }
}

// Blocks take work from a queue and read each other's results as they are.
// run: work_from_a_queue grid=4 block=32 args=zero:next:4,zero:best:256,zero:y:256
extern "C" __global__ void work_from_a_queue(int* next, volatile int* best, int* y) {
  if (threadIdx.x != 0) return;
  for (;;) {
    const int item = atomicAdd(next, 1);
    if (item >= 64) return;
    const int hint = best[(item + 63) % 64];
    best[item] = item;
    y[item] = hint < 0;
  }
}

// Sums are updated by compare-and-swap, which waits for nobody: the values are hints still.
// run: hints_beside_a_sum grid=8 block=32 args=zero:hint:32,zero:total:8,zero:best:4,zero:y:32
extern "C" __global__ void hints_beside_a_sum(volatile int* hint, double* total, volatile unsigned* best, int* y) {
  if (threadIdx.x != 0) return;
  auto* const sum = reinterpret_cast<unsigned long long*>(total);
  int seen = 0;
  for (int round = 0; round < 4; ++round) {
    hint[blockIdx.x] = round;
    unsigned long long before = *static_cast<volatile unsigned long long*>(sum), expected;
    do {
      expected = before;
      before = atomicCAS(sum, expected, __double_as_longlong(__longlong_as_double(expected) + 1.0));
    } while (before != expected);
    seen += hint[(blockIdx.x + 1) % 8] > 99;
    hint[blockIdx.x] = round + 1;
    for (;;) {
      const unsigned now = *best;
      if (atomicCAS(const_cast<unsigned*>(best), now, now + blockIdx.x) == now) break;
    }
    seen += hint[(blockIdx.x + 3) % 8] > 99;
  }
  y[blockIdx.x] = seen;
}

// A block adds up items of a queue, whose end it does not wait for, and looks at a hint.
// run: sum_from_a_queue grid=4 block=32 args=zero:next:4,zero:hint:16,zero:y:16
extern "C" __global__ void sum_from_a_queue(int* next, volatile int* hint, int* y) {
  if (threadIdx.x != 0) return;
  int sum = 0;
  hint[blockIdx.x] = 1;
  for (int item = atomicAdd(next, 1); item < 64; item = atomicAdd(next, 1)) sum += item % 5;
  hint[blockIdx.x] = 2;
  while (atomicAdd(next, 1) < 96) sum += hint[(blockIdx.x + 1) % 4] < 0;
  y[blockIdx.x] = sum < 0;
}

// An atomic declares the hint that is stored between the fence and the flag.
// run: declared_hint grid=2 block=32 args=zero:data:4,zero:hint:4,zero:flag:4,zero:y:8
extern "C" __global__ void declared_hint(volatile int* data, int* hint, volatile int* flag, int* y) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;
    __threadfence();
    atomicExch(hint, 7);
    *flag = 1;
  } else {
    while (*flag == 0) {
    }
    __threadfence();
    y[0] = *data;
    y[1] = *static_cast<volatile int*>(hint) > 9;
  }
}

// A search ends at a bound that all lower, each with a hint of its own.
// run: search_below_a_bound grid=4 block=32 args=buf:x:256,one:bound:4,zero:hint:16,zero:y:16
extern "C" __global__ void search_below_a_bound(const int* x, int* bound, volatile int* hint, int* y) {
  if (threadIdx.x != 0) return;
  hint[blockIdx.x] = 1;
  int at = blockIdx.x;
  while (at < 64 && x[at] * 9 < *static_cast<volatile int*>(bound)) at += 4;
  atomicMin(bound, 400 - blockIdx.x * 8);
  hint[blockIdx.x] = 2;
  atomicMin(bound, 396 - blockIdx.x * 8);
  for (at = blockIdx.x; x[at] * 9 < *static_cast<volatile int*>(bound); ++at) {
  }
  y[blockIdx.x] = at < 0 || hint[(blockIdx.x + 1) % 4] > 9;
}

// Each place is taken once. Whoever comes later learns nothing by that, and reads hints as they are.
// run: places_taken_once grid=4 block=32 args=zero:taken:256,zero:hint:16,zero:y:16
extern "C" __global__ void places_taken_once(int* taken, volatile int* hint, int* y) {
  if (threadIdx.x != 0) return;
  int seen = 0;
  for (int place = 0; place < 64; ++place) {
    hint[blockIdx.x] = place;
    if (atomicCAS(&taken[place], 0, 1) == 0) ++seen;
    seen += hint[(blockIdx.x + 1) % 4] > 99;
  }
  y[blockIdx.x] = seen < 0;
}

// A block computes and asks in passing whether it shall stop, which tells it nothing of other hints.
// run: computes_until_stopped grid=4 block=32 args=zero:stop:4,zero:hint:16,zero:y:16
extern "C" __global__ void computes_until_stopped(int* stop, volatile int* hint, int* y) {
  if (threadIdx.x != 0) return;
  hint[blockIdx.x] = 1;
  unsigned number = blockIdx.x;
  int rounds = 0;
  while (*static_cast<volatile int*>(stop) == 0 && ++rounds < 500) number = number * 747796405u + 1;
  hint[blockIdx.x] = 2;
  *static_cast<volatile int*>(stop) = 1;
  y[blockIdx.x] = number + (hint[(blockIdx.x + 1) % 4] > 9);
}
