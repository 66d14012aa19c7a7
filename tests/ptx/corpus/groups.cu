// Cooperative groups: tiles, coalesced groups, labels, grid, reduce and scan.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void tiles(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto quad = cg::tiled_partition<4>(warp);
  int v = in[block.thread_rank()];
  v += warp.shfl_xor(v, 1) + quad.shfl_down(v, 1) + warp.shfl(v, 5) + quad.shfl_up(v, 1);
  if (warp.any(v > 3) && !quad.all(v < 0)) v += __popc(warp.ballot(v & 1)) + warp.match_any(v & 3);
  int pred;
  v += warp.match_all(v & 1, pred);
  warp.sync();
  block.sync();
  out[block.thread_rank()] = v + pred + quad.meta_group_rank() + warp.meta_group_size();
}
extern "C" __global__ void reductions(const int* in, int* out, const float* fin, float* fout, const double* din,
                                      double* dout) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  auto eight = cg::tiled_partition<8>(block);
  const int i = block.thread_rank();
  out[i] = cg::reduce(warp, in[i], cg::plus<int>()) + cg::reduce(eight, in[i], cg::greater<int>()) +
           cg::reduce(warp, in[i], cg::bit_xor<int>()) + cg::reduce(warp, unsigned(in[i]), cg::less<unsigned>());
  fout[i] = cg::reduce(warp, fin[i], cg::plus<float>()) + cg::reduce(eight, fin[i], cg::less<float>());
  dout[i] = cg::reduce(warp, din[i], cg::plus<double>());
}
extern "C" __global__ void scans(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  const int i = block.thread_rank();
  out[i] = cg::inclusive_scan(warp, in[i], cg::plus<int>()) + cg::exclusive_scan(warp, in[i], cg::plus<int>());
}
extern "C" __global__ void coalesced(const int* in, int* out, int* counter) {
  const int i = threadIdx.x;
  if (in[i] % 3 == 0) {
    auto active = cg::coalesced_threads();
    int base = 0;
    if (active.thread_rank() == 0) base = atomicAdd(counter, active.size());
    base = active.shfl(base, 0);
    out[base + active.thread_rank()] = cg::reduce(active, in[i], cg::plus<int>());
    auto label = cg::labeled_partition(active, in[i] & 3);
    auto binary = cg::binary_partition(active, (in[i] & 1) != 0);
    out[base + active.thread_rank()] += label.size() * 100 + binary.size();
  }
}
extern "C" __global__ void whole_grid(float* data, int n) {
  auto grid = cg::this_grid();
  for (int i = grid.thread_rank(); i < n; i += grid.size()) data[i] += 1.0f;
  grid.sync();
  if (grid.thread_rank() == 0) data[0] += data[n - 1] + grid.num_blocks();
}
extern "C" __global__ void big_tile(const int* in, int* out) {
  __shared__ cg::block_tile_memory<128> memory;
  auto block = cg::this_thread_block(memory);
  auto tile = cg::tiled_partition<64>(block);
  out[block.thread_rank()] = cg::reduce(tile, in[block.thread_rank()], cg::plus<int>());
  tile.sync();
}
extern "C" __global__ void copies(const float4* in, float4* out) {
  __shared__ float4 tile[128];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, tile, in + blockIdx.x * 128, sizeof tile);
  cg::wait(block);
  out[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x];
}
extern "C" __global__ void elect(int* out) {
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  cg::invoke_one(warp, [&] { atomicAdd(out, 1); });
  const int one = cg::invoke_one_broadcast(warp, [&] { return atomicAdd(out + 1, 1); });
  atomicMax(out + 2, one);
}
