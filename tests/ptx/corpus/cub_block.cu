// Block and warp primitives of CUB, in the types that people use them with.
#include <cub/block/block_shuffle.cuh>
#include <cub/cub.cuh>
#include <cuda/std/functional>
#include <cuda_fp16.h>

template <typename T, int kThreads, int kItems, cub::BlockScanAlgorithm kScan>
__device__ void load_scan_store(const T* in, T* out) {
  using Load = cub::BlockLoad<T, kThreads, kItems, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<T, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  using Scan = cub::BlockScan<T, kThreads, kScan>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
    typename Scan::TempStorage scan;
  } temp;
  T items[kItems];
  const int base = blockIdx.x * kThreads * kItems;
  Load(temp.load).Load(in + base, items);
  __syncthreads();
  Scan(temp.scan).InclusiveSum(items, items);
  __syncthreads();
  Store(temp.store).Store(out + base, items);
}
extern "C" __global__ void scan_int(const int* in, int* out) {
  load_scan_store<int, 128, 4, cub::BLOCK_SCAN_WARP_SCANS>(in, out);
}
extern "C" __global__ void scan_double(const double* in, double* out) {
  load_scan_store<double, 64, 2, cub::BLOCK_SCAN_RAKING>(in, out);
}
extern "C" __global__ void scan_max_exclusive(const float* in, float* out) {
  using Scan = cub::BlockScan<float, 256>;
  __shared__ typename Scan::TempStorage temp;
  const int i = blockIdx.x * 256 + threadIdx.x;
  float value = in[i], aggregate = 0;
  Scan(temp).ExclusiveScan(value, value, -1e30f, [](float a, float b) { return a > b ? a : b; }, aggregate);
  out[i] = value + aggregate;
}

template <typename T, cub::BlockReduceAlgorithm kAlgorithm>
__device__ void reduce(const T* in, T* out, int n) {
  using Reduce = cub::BlockReduce<T, 128, kAlgorithm>;
  __shared__ typename Reduce::TempStorage temp;
  const int i = blockIdx.x * 128 + threadIdx.x;
  const T sum = Reduce(temp).Sum(i < n ? in[i] : T(0), n - int(blockIdx.x) * 128);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
extern "C" __global__ void reduce_float(const float* in, float* out, int n) {
  reduce<float, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out, n);
}
extern "C" __global__ void reduce_long(const long long* in, long long* out, int n) {
  reduce<long long, cub::BLOCK_REDUCE_RAKING>(in, out, n);
}
extern "C" __global__ void reduce_short(const unsigned short* in, unsigned short* out, int n) {
  reduce<unsigned short, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(in, out, n);
}
extern "C" __global__ void argmax(const float* in, int* out) {
  using Pair = cub::KeyValuePair<int, float>;
  using Reduce = cub::BlockReduce<Pair, 128>;
  __shared__ typename Reduce::TempStorage temp;
  const Pair best = Reduce(temp).Reduce(Pair(threadIdx.x, in[blockIdx.x * 128 + threadIdx.x]), cub::ArgMax());
  if (threadIdx.x == 0) out[blockIdx.x] = best.key;
}

template <typename K>
__device__ void sort_keys(K* keys) {
  using Sort = cub::BlockRadixSort<K, 128, 4>;
  __shared__ typename Sort::TempStorage temp;
  K mine[4];
  for (int i = 0; i < 4; ++i) mine[i] = keys[blockIdx.x * 512 + threadIdx.x * 4 + i];
  Sort(temp).Sort(mine);
  for (int i = 0; i < 4; ++i) keys[blockIdx.x * 512 + threadIdx.x * 4 + i] = mine[i];
}
extern "C" __global__ void sort_unsigned(unsigned* keys) { sort_keys(keys); }
extern "C" __global__ void sort_float(float* keys) { sort_keys(keys); }
extern "C" __global__ void sort_long(long long* keys) { sort_keys(keys); }
extern "C" __global__ void sort_bytes(unsigned char* keys) { sort_keys(keys); }
extern "C" __global__ void sort_pairs_descending(float* keys, int* values) {
  using Sort = cub::BlockRadixSort<float, 64, 2, int>;
  __shared__ typename Sort::TempStorage temp;
  float key[2] = {keys[threadIdx.x * 2], keys[threadIdx.x * 2 + 1]};
  int value[2] = {values[threadIdx.x * 2], values[threadIdx.x * 2 + 1]};
  Sort(temp).SortDescendingBlockedToStriped(key, value);
  keys[threadIdx.x] = key[0], keys[threadIdx.x + 64] = key[1];
  values[threadIdx.x] = value[0], values[threadIdx.x + 64] = value[1];
}
extern "C" __global__ void merge_sort(int* keys) {
  using Sort = cub::BlockMergeSort<int, 128, 2>;
  __shared__ typename Sort::TempStorage temp;
  int mine[2] = {keys[threadIdx.x * 2], keys[threadIdx.x * 2 + 1]};
  Sort(temp).Sort(mine, [](int a, int b) { return a < b; });
  keys[threadIdx.x * 2] = mine[0], keys[threadIdx.x * 2 + 1] = mine[1];
}

extern "C" __global__ void warp_reduce(const float* in, float* out) {
  using Reduce = cub::WarpReduce<float>;
  __shared__ typename Reduce::TempStorage temp[4];
  const int i = blockIdx.x * 128 + threadIdx.x, warp = threadIdx.x / 32;
  const float sum = Reduce(temp[warp]).Sum(in[i]);
  const float least = Reduce(temp[warp]).Reduce(in[i], [](float a, float b) { return a < b ? a : b; });
  if (threadIdx.x % 32 == 0) out[i / 32] = sum + least;
}
extern "C" __global__ void warp_reduce_of_16(const int* in, int* out) {
  using Reduce = cub::WarpReduce<int, 16>;
  __shared__ typename Reduce::TempStorage temp[8];
  const int i = blockIdx.x * 128 + threadIdx.x;
  const int sum = Reduce(temp[threadIdx.x / 16]).HeadSegmentedSum(in[i], threadIdx.x % 5 == 0);
  if (threadIdx.x % 16 == 0) out[i / 16] = sum;
}
extern "C" __global__ void warp_scan(const int* in, int* out) {
  using Scan = cub::WarpScan<int>;
  __shared__ typename Scan::TempStorage temp[4];
  const int i = blockIdx.x * 128 + threadIdx.x;
  int inclusive, exclusive;
  Scan(temp[threadIdx.x / 32]).Scan(in[i], inclusive, exclusive, 0, [](int a, int b) { return a + b; });
  out[i] = inclusive * 2 - exclusive;
}
extern "C" __global__ void warp_merge_sort(float* keys) {
  using Sort = cub::WarpMergeSort<float, 2, 32>;
  __shared__ typename Sort::TempStorage temp[2];
  float mine[2] = {keys[threadIdx.x * 2], keys[threadIdx.x * 2 + 1]};
  Sort(temp[threadIdx.x / 32]).Sort(mine, [](float a, float b) { return a < b; });
  keys[threadIdx.x * 2] = mine[0], keys[threadIdx.x * 2 + 1] = mine[1];
}

extern "C" __global__ void exchange_and_discontinuity(const int* in, int* out, bool* heads) {
  using Exchange = cub::BlockExchange<int, 128, 4>;
  using Edges = cub::BlockDiscontinuity<int, 128>;
  __shared__ union {
    typename Exchange::TempStorage exchange;
    typename Edges::TempStorage edges;
  } temp;
  int items[4];
  cub::LoadDirectStriped<128>(threadIdx.x, in, items);
  Exchange(temp.exchange).StripedToBlocked(items, items);
  __syncthreads();
  bool flags[4];
  Edges(temp.edges).FlagHeads(flags, items, cuda::std::not_equal_to<int>());
  cub::StoreDirectBlocked(threadIdx.x, out, items);
  cub::StoreDirectBlocked(threadIdx.x, heads, flags);
}
extern "C" __global__ void histogram(const unsigned char* in, unsigned* out) {
  using Histogram = cub::BlockHistogram<unsigned char, 128, 4, 256, cub::BLOCK_HISTO_ATOMIC>;
  __shared__ typename Histogram::TempStorage temp;
  __shared__ unsigned counts[256];
  unsigned char items[4];
  cub::LoadDirectBlockedVectorized(threadIdx.x, const_cast<unsigned char*>(in), items);
  Histogram(temp).Histogram(items, counts);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += 128) out[i] = counts[i];
}
extern "C" __global__ void adjacent_shuffle_vote(const int* in, int* out) {
  using Adjacent = cub::BlockAdjacentDifference<int, 128>;
  using Shuffle = cub::BlockShuffle<int, 128>;
  __shared__ union {
    typename Adjacent::TempStorage adjacent;
    typename Shuffle::TempStorage shuffle;
  } temp;
  int mine[1] = {in[threadIdx.x]}, difference[1];
  Adjacent(temp.adjacent).SubtractLeft(mine, difference, cuda::std::minus<int>());
  __syncthreads();
  int other;
  Shuffle(temp.shuffle).Offset(difference[0], other, 3);
  out[threadIdx.x] = other + cub::RowMajorTid(128, 1, 1);
}
extern "C" __global__ void cached_loads(const int4* in, int4* out) {
  const int i = threadIdx.x;
  int4 a = cub::ThreadLoad<cub::LOAD_CS>(in + i), b = cub::ThreadLoad<cub::LOAD_LDG>(in + i);
  int4 c = cub::ThreadLoad<cub::LOAD_CV>(in + i), d = cub::ThreadLoad<cub::LOAD_CG>(in + i);
  a.x += b.x + c.y + d.z;
  cub::ThreadStore<cub::STORE_WT>(out + i, a);
  cub::ThreadStore<cub::STORE_CS>(out + i + 1, b);
}
