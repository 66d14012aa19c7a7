// Correct kernels whose threads of one warp share memory.
#include <cooperative_groups.h>
#include <cub/cub.cuh>

namespace cg = cooperative_groups;
constexpr unsigned kAll = 0xffffffffu;

// run: own_bytes grid=1 block=64 args=buf:x:256,zero:y:256
extern "C" __global__ void own_bytes(const int* x, int* y) {
  __shared__ unsigned char bytes[64];
  __shared__ unsigned short halves[64];
  const int t = threadIdx.x;
  bytes[t] = static_cast<unsigned char>(x[t]);
  halves[t] = static_cast<unsigned short>(x[t]);
  for (int k = 0; k < 3; ++k) {
    bytes[t] = static_cast<unsigned char>(bytes[t] + 1);
    halves[t] = static_cast<unsigned short>(halves[t] + bytes[t]);
  }
  y[t] = bytes[t] + halves[t];
}

// run: own_bytes_in_global grid=1 block=64 args=buf:x:64,buf:z:128,buf:w:64
extern "C" __global__ void own_bytes_in_global(unsigned char* x, unsigned short* z, unsigned char* w) {
  const int t = threadIdx.x;
  x[t] = static_cast<unsigned char>(x[t] + 1);
  z[t] = static_cast<unsigned short>(z[t] + x[t]);
  // Two bytes apart: the lanes of a word are no row.
  if (t < 32) {
    const unsigned char low = w[2 * t], high = w[2 * t + 1];
    w[2 * t] = high;
    w[2 * t + 1] = low;
  }
}

// run: own_parts_of_vectors grid=1 block=32 args=buf:x:512,zero:y:512
extern "C" __global__ void own_parts_of_vectors(const int4* x, int4* y) {
  __shared__ int4 s[32];
  const int t = threadIdx.x;
  s[t] = x[t];
  reinterpret_cast<int*>(s)[4 * t + 1] += 3;
  reinterpret_cast<short*>(s)[8 * t + 6] += 5;
  reinterpret_cast<int2*>(s)[2 * t].x = t;
  y[t] = s[t];
}

// run: pairs_of_lanes grid=1 block=32 args=buf:x:128,zero:y:128
extern "C" __global__ void pairs_of_lanes(const int* x, int* y) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  auto pair = cg::tiled_partition<2>(cg::this_thread_block());
  s[t] = x[t];
  for (int k = 0; k < 4; ++k) {
    pair.sync();
    const int v = s[t ^ 1];
    pair.sync();
    s[t] = v + 1;
  }
  y[t] = s[t];
}

// run: order_by_way_of_another grid=1 block=32 args=buf:x:128,zero:y:128
extern "C" __global__ void order_by_way_of_another(const int* x, int* y) {
  __shared__ int s[32];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t < 2) __syncwarp(0x3);
  if (t == 1 || t == 2) __syncwarp(0x6);
  y[t] = t == 2 ? s[0] : s[t];
}

// run: branches_that_meet grid=1 block=64 args=buf:x:256,zero:y:256
extern "C" __global__ void branches_that_meet(const int* x, int* y) {
  __shared__ int s[64];
  const int t = threadIdx.x;
  s[t] = x[t];
  if (t & 1) {
    auto group = cg::coalesced_threads();
    group.sync();
    y[t] = s[t ^ 2];
  } else {
    auto group = cg::coalesced_threads();
    group.sync();
    y[t] = s[t ^ 4];
  }
}

// run: read_before_a_shuffle grid=1 block=32 args=buf:x:128,zero:y:128
extern "C" __global__ void read_before_a_shuffle(const int* x, int* y) {
  __shared__ unsigned peers[32];
  const int t = threadIdx.x;
  peers[t] = 0;
  __syncwarp();
  const int bin = x[t] & 7;
  atomicOr(&peers[bin], 1u << t);
  __syncwarp();
  const unsigned mine = peers[bin];
  const int leader = 31 - __clz(mine);
  const int from = __shfl_sync(kAll, 3 * t, leader);
  if (t == leader) peers[bin] = 0;  // All have passed the shuffle with what they read.
  __syncwarp();
  y[t] = from + static_cast<int>(peers[t]);
}

// run: one_flag_of_many grid=2 block=64 args=buf:x:512,zero:y:512
extern "C" __global__ void one_flag_of_many(const int* x, int* y) {
  __shared__ bool any;
  __shared__ int found;
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (threadIdx.x == 0) any = false, found = 0;
  __syncthreads();
  if (x[i] > 0) any = true;
  if (x[i] > 0) found = 1;
  __syncthreads();
  y[i] = any + found;
}

// run: sorts grid=1 block=128 args=buf:x:512,zero:y:512
extern "C" __global__ void sorts(const unsigned* x, unsigned* y) {
  using Sort = cub::BlockRadixSort<unsigned, 128, 1>;
  using Warp = cub::WarpMergeSort<unsigned, 1, 32>;
  using Scan = cub::WarpScan<unsigned>;
  using Exchange = cub::WarpExchange<unsigned, 1, 32>;
  __shared__ union {
    typename Sort::TempStorage sort;
    typename Warp::TempStorage warp[4];
    typename Scan::TempStorage scan[4];
    typename Exchange::TempStorage exchange[4];
  } room;
  const int t = threadIdx.x, w = t / 32;
  unsigned v[1] = {x[t]};
  Sort(room.sort).Sort(v);
  __syncthreads();
  Warp(room.warp[w]).Sort(v, [](unsigned a, unsigned b) { return a > b; });
  __syncthreads();
  Scan(room.scan[w]).InclusiveSum(v[0], v[0]);
  __syncthreads();
  Exchange(room.exchange[w]).BlockedToStriped(v, v);
  y[t] = v[0];
}

// run: ranks_by_match grid=1 block=128 args=buf:x:512,zero:y:512
extern "C" __global__ void ranks_by_match(const unsigned* x, int* y) {
  using Rank = cub::BlockRadixRankMatchEarlyCounts<128, 5, false, cub::BLOCK_SCAN_WARP_SCANS, cub::WARP_MATCH_ATOMIC_OR>;
  __shared__ typename Rank::TempStorage room;
  unsigned keys[2] = {x[threadIdx.x], x[threadIdx.x] * 7};
  int ranks[2];
  cub::BFEDigitExtractor<unsigned> digits(0, 5);
  Rank(room).RankKeys(keys, ranks, digits);
  y[threadIdx.x] = ranks[0] + ranks[1];
}

// run: one_element_for_all grid=4 block=32 args=buf:x:16,zero:y:512
extern "C" __global__ void one_element_for_all(int* x, int* y) {
  // As compilers of tiles have it: all threads read, one of them writes.
  int v;
  asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(x + blockIdx.x));
  if (threadIdx.x == 0) x[blockIdx.x] = v + 1;
  y[blockIdx.x * 32 + threadIdx.x] = v;
}

// run: exchange_in_global grid=2 block=32 args=buf:x:256
extern "C" __global__ void exchange_in_global(int* x) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  for (int step = 1; step < 32; step *= 2) {
    const int v = x[i ^ step];
    __syncwarp();
    x[i] = v + 1;
    __syncwarp();
  }
}

// run: shuffled_in_place grid=2 block=32 args=buf:x:256
extern "C" __global__ void shuffled_in_place(int* x) {
  const int i = blockIdx.x * 32 + threadIdx.x;
  const int v = __shfl_xor_sync(kAll, x[i], 3);
  x[i ^ 5] = v;
}
