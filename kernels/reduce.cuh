// Sum, mean and maximum along one axis. x is outer x length x inner, row-major; y has no axis
// `length`. Where that gives too few blocks, NAME_part folds `parts` pieces of the axis apart and
// NAME_join folds what they left. Every fold comes in an order that follows from the sizes and the
// launch alone. Any one-dimensional grid; blocks of any size, a power of two from 32 to 256 where
// inner is not 1.
#pragma once

#include "kernels/columns.cuh"

namespace gpuemu_kernels {

struct ReduceSum : Sum {
  template <typename C>
  static __device__ __forceinline__ C finish(C total, int) {
    return total;
  }
};
struct ReduceMean : Sum {
  template <typename C>
  static __device__ __forceinline__ C finish(C total, int count) {
    return total / static_cast<C>(count);
  }
};
struct ReduceMax : Max {
  template <typename C>
  static __device__ __forceinline__ C finish(C most, int) {
    return most;
  }
};

struct ReduceShape {
  long long outer, length, inner, parts;

  __device__ __forceinline__ long long pieces() const { return outer * parts; }
  __device__ __forceinline__ long long chunk() const { return (length + parts - 1) / parts; }
  /// Where piece number `piece` begins along the axis, and how long it is.
  __device__ __forceinline__ long long begin(long long piece) const {
    return min(piece % parts * chunk(), length);
  }
  __device__ __forceinline__ long long count(long long piece) const {
    return min(chunk(), length - begin(piece));
  }
  __device__ __forceinline__ long long offset(long long piece) const {
    return (piece / parts * length + begin(piece)) * inner;
  }
};

/// What the calling thread, number `thread` of `threads`, folds of n neighbours.
template <typename Op, typename T>
__device__ __forceinline__ Compute<T> fold_share(const T* x, long long n, unsigned thread,
                                                 unsigned threads) {
  auto total = Op::template identity<Compute<T>>();
  const PacketRange range = packet_range(n, x);
  for (long long i = thread; i < range.head; i += threads) total = Op::apply(total, widen(x[i]));
#pragma unroll 4
  for (long long p = thread; p < range.packets; p += threads) {
    const Packet<T> packet = Packet<T>::load(x + range.head + p * Packet<T>::kCount);
#pragma unroll
    for (int j = 0; j < Packet<T>::kCount; ++j) total = Op::apply(total, widen(packet.at[j]));
  }
  const long long rest = range.head + range.packets * Packet<T>::kCount;
  for (long long i = rest + thread; i < n; i += threads) total = Op::apply(total, widen(x[i]));
  return total;
}

/// Rows of up to this many elements get a warp each.
constexpr long long kWarpRow = 1024;

/// store(piece, fold) of pieces that are short, a warp for each. A warp that lacks lanes takes none
/// unless it is the only one.
template <typename Op, typename T, typename Store>
__device__ void reduce_short_rows(const T* x, const ReduceShape& shape, Store store) {
  const unsigned lanes = min(32u, blockDim.x), warps = blockDim.x / lanes;
  const unsigned lane = threadIdx.x % lanes, warp = threadIdx.x / lanes;
  const unsigned mask = lanes == 32u ? 0xffffffffu : (1u << lanes) - 1u;
  if (warp >= warps) return;
  const long long step = static_cast<long long>(gridDim.x) * warps;
  for (long long piece = static_cast<long long>(blockIdx.x) * warps + warp; piece < shape.pieces();
       piece += step) {
    auto total = fold_share<Op>(x + shape.offset(piece), shape.count(piece), lane, lanes);
    for (unsigned apart = 16u; apart > 0u; apart /= 2u) {
      const bool has_partner = lane + apart < lanes;
      const auto other =
          __shfl_sync(mask, total, static_cast<int>(has_partner ? lane + apart : lane));
      const auto joined = Op::apply(total, other);
      total = has_partner ? joined : total;
    }
    if (lane == 0u) store(piece, total);
  }
}

/// Reduces a piece of the axis with one block.
template <typename Op, typename T, typename Store>
__device__ void reduce_long_rows(const T* x, const ReduceShape& shape, Store store) {
  __shared__ Compute<T> warps[32];
  for (long long piece = blockIdx.x; piece < shape.pieces(); piece += gridDim.x) {
    auto total =
        fold_share<Op>(x + shape.offset(piece), shape.count(piece), threadIdx.x, blockDim.x);
    total = reduce_block<Op>(total, warps);
    if (threadIdx.x == 0) store(piece, total);
  }
}

template <typename Op, int kWidth, typename T, typename Store>
__device__ void reduce_tiles(const T* x, const ReduceShape& shape, Store store) {
  constexpr long long kColumns = kColumnLanes * kWidth;
  const long long tiles = (shape.inner + kColumns - 1) / kColumns;
  for (long long at = blockIdx.x; at < shape.pieces() * tiles; at += gridDim.x) {
    const long long piece = at / tiles;
    fold_column_tile<Op, kWidth>(
        x + shape.offset(piece), shape.count(piece), shape.inner, at % tiles * kColumns,
        [&](long long col, Compute<T> total) { store(piece * shape.inner + col, total); });
  }
}

template <typename Op, typename T, typename Store>
__device__ void reduce_columns(const T* x, const ReduceShape& shape, Store store) {
  if (has_column_packets(x, shape.inner)) {
    reduce_tiles<Op, Packet<T>::kCount>(x, shape, store);
  } else {
    reduce_tiles<Op, 1>(x, shape, store);
  }
}

template <typename Op, typename T, typename Store>
__device__ void reduce_once(const T* x, const ReduceShape& shape, Store store) {
  if (shape.chunk() <= kWarpRow) {
    reduce_short_rows<Op>(x, shape, store);
  } else {
    reduce_long_rows<Op>(x, shape, store);
  }
}

template <typename Op, typename T, typename Store>
__device__ void reduce_parts(const T* x, const ReduceShape& shape, Store store) {
  if (shape.inner == 1) {
    reduce_long_rows<Op>(x, shape, store);
  } else {
    reduce_columns<Op>(x, shape, store);
  }
}

/// y[i] = the result of a fold of `count` elements.
template <typename Op, typename T>
struct StoreResult {
  T* y;
  int count;
  __device__ __forceinline__ void operator()(long long i, Compute<T> total) const {
    y[i] = narrow<T>(Op::finish(total, count));
  }
};
template <typename C>
struct StorePartial {
  C* partial;
  __device__ __forceinline__ void operator()(long long i, C total) const { partial[i] = total; }
};

}  // namespace gpuemu_kernels

/// The entries of one reduction.
#define GPUEMU_REDUCE(name, Op)                                                                  \
  template <typename T>                                                                          \
  __device__ void name##_body(const T* x, T* y, int rows, int cols) {                            \
    reduce_once<Op>(x, ReduceShape{rows, cols, 1, 1}, StoreResult<Op, T>{y, cols});              \
  }                                                                                              \
  template <typename T>                                                                          \
  __device__ void name##_columns_body(const T* x, T* y, int outer, int length, int inner) {      \
    reduce_columns<Op>(x, ReduceShape{outer, length, inner, 1}, StoreResult<Op, T>{y, length});  \
  }                                                                                              \
  template <typename T>                                                                          \
  __device__ void name##_part_body(const T* x, Compute<T>* partial, int outer, int length,       \
                                   int inner, int parts) {                                       \
    reduce_parts<Op>(x, ReduceShape{outer, length, inner, parts},                                \
                     StorePartial<Compute<T>>{partial});                                         \
  }                                                                                              \
  template <typename T>                                                                          \
  __device__ void name##_join_body(const Compute<T>* partial, T* y, int outer, int parts,        \
                                   int inner, int length) {                                      \
    reduce_tiles<Op, 1>(partial, ReduceShape{outer, parts, inner, 1},                            \
                        StoreResult<Op, T>{y, length});                                          \
  }                                                                                              \
  GPUEMU_ENTRIES(name, (const T* x, T* y, int rows, int cols), (x, y, rows, cols))               \
  GPUEMU_ENTRIES(name##_columns, (const T* x, T* y, int outer, int length, int inner),           \
                 (x, y, outer, length, inner))                                                   \
  GPUEMU_ENTRIES(name##_part,                                                                    \
                 (const T* x, Compute<T>* partial, int outer, int length, int inner, int parts), \
                 (x, partial, outer, length, inner, parts))                                      \
  GPUEMU_ENTRIES(name##_join,                                                                    \
                 (const Compute<T>* partial, T* y, int outer, int parts, int inner, int length), \
                 (partial, y, outer, parts, inner, length))
