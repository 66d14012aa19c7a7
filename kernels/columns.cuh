// Columns of a row-major matrix, folded by blocks whose neighbouring threads read neighbouring
// elements. Blocks are one-dimensional, a power of two from 32 to 256.
#pragma once

#include "kernels/packets.cuh"

namespace gpuemu_kernels {

constexpr int kColumnThreads = 256;
constexpr int kColumnLanes = 32;

/// Neighbouring elements of one row: one, or a packet of 16 bytes.
template <typename T, int kWidth>
struct ColumnSlice {
  T at[kWidth];

  static __device__ __forceinline__ ColumnSlice load(const T* from) {
    ColumnSlice slice;
    if constexpr (kWidth == 1) {
      slice.at[0] = *from;
    } else {
      const Packet<T> packet = Packet<T>::load(from);
      memcpy(&slice, &packet, sizeof slice);
    }
    return slice;
  }
};

/// store(column, fold of its `rows` elements) for up to kColumnLanes * kWidth columns from `first`
/// on. `pitch` is the length of a row. A fold comes in a fixed order. Every thread must call.
template <typename Op, int kWidth, typename T, typename Store>
__device__ void fold_column_tile(const T* x, long long rows, long long pitch, long long first,
                                 Store store) {
  using C = Compute<T>;
  __shared__ C partial[kColumnThreads * kWidth];
  // Fewer lanes side by side where there are no more columns, so that none is idle.
  unsigned lanes = kColumnLanes;
  while (lanes > 1u && lanes / 2u * kWidth >= pitch - first) lanes /= 2u;
  const unsigned group = threadIdx.x / lanes, groups = blockDim.x / lanes;
  const long long col = first + threadIdx.x % lanes * kWidth;
  C total[kWidth];
#pragma unroll
  for (int j = 0; j < kWidth; ++j) total[j] = Op::template identity<C>();
  if (col < pitch) {
#pragma unroll 4
    for (long long row = group; row < rows; row += groups) {
      const auto slice = ColumnSlice<T, kWidth>::load(x + row * pitch + col);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) total[j] = Op::apply(total[j], widen(slice.at[j]));
    }
  }
#pragma unroll
  for (int j = 0; j < kWidth; ++j) partial[threadIdx.x * kWidth + j] = total[j];
  __syncthreads();
  const unsigned width = lanes * kWidth;
  for (unsigned i = threadIdx.x; i < width && first + i < pitch; i += blockDim.x) {
    C all = partial[i];
    for (unsigned g = 1u; g < groups; ++g) all = Op::apply(all, partial[g * width + i]);
    store(first + i, all);
  }
  __syncthreads();
}

/// Whether rows of this length, from this address on, are whole packets.
template <typename T>
__device__ __forceinline__ bool has_column_packets(const T* x, long long pitch) {
  return phase_of(x) == 0u && pitch % Packet<T>::kCount == 0;
}

}  // namespace gpuemu_kernels
