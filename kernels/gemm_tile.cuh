// One tile of c = op(a) * op(b) per block, where op is the matrix or its transpose: both operands
// go through shared memory, each thread keeps a square of sums in registers, and the next slice is
// loaded while the present one is multiplied.
#pragma once

#include "kernels/element.cuh"

namespace gpuemu_kernels {

/// c is m x n and the sums run over k; all contiguous, row-major. A transposed operand is stored
/// as k x m or n x k.
struct GemmShape {
  int m, n, k;
  bool a_transposed, b_transposed;
};

constexpr int kGemmThreads = 256;
constexpr int kGemmDepth = 8;  ///< Length of a slice along k.

template <typename T>
struct alignas(sizeof(T) * 4 < 16 ? sizeof(T) * 4 : 16) Quad {
  T at[4];
};

/// A slice of an operand on its way to shared memory: four elements per thread that are neighbours
/// in memory, along the side of the tile or along k.
template <typename T, int kSide>
class SliceLoader {
 public:
  /// `side_first`: neighbours in memory are neighbours along the side.
  __device__ SliceLoader(const T* from, int side, int depth, bool side_first)
      : from_(from), side_(side), depth_(depth), side_first_(side_first) {
    const int thread = static_cast<int>(threadIdx.x);
    if (side_first) {
      side_at_ = thread % (kSide / 4) * 4;
      depth_at_ = thread / (kSide / 4);
    } else {
      side_at_ = thread / (kGemmDepth / 4);
      depth_at_ = thread % (kGemmDepth / 4) * 4;
    }
    const int pitch = side_first ? side : depth;
    whole_ = pitch % 4 == 0 && reinterpret_cast<unsigned long long>(from) % alignof(Quad<T>) == 0;
  }

  /// Elements outside of the operand are 0, which adds nothing.
  __device__ void load(int side_begin, int depth_begin) {
    if (!active()) return;
    const int side = side_begin + side_at_;
    const int depth = depth_begin + depth_at_;
    const long long row = side_first_ ? depth : side;
    const int at = side_first_ ? side : depth;
    const int pitch = side_first_ ? side_ : depth_;
    const bool row_inside = row < (side_first_ ? depth_ : side_);
    const T* source = from_ + row * pitch + at;
    if (whole_ && row_inside && at + 4 <= pitch) {
      held_ = *reinterpret_cast<const Quad<T>*>(source);
      return;
    }
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      held_.at[j] = row_inside && at + j < pitch ? source[j] : narrow<T>(Compute<T>(0));
    }
  }

  template <int kPitch>
  __device__ void store(Compute<T> (&slice)[kGemmDepth][kPitch]) const {
    if (!active()) return;
    if (side_first_) {
#pragma unroll
      for (int j = 0; j < 4; ++j) slice[depth_at_][side_at_ + j] = widen(held_.at[j]);
    } else {
#pragma unroll
      for (int j = 0; j < 4; ++j) slice[depth_at_ + j][side_at_] = widen(held_.at[j]);
    }
  }

 private:
  /// A small tile has fewer quads than the block has threads.
  __device__ bool active() const { return static_cast<int>(threadIdx.x) < kSide * kGemmDepth / 4; }

  const T* from_;
  int side_, depth_, side_at_, depth_at_;
  bool side_first_, whole_;
  Quad<T> held_;
};

/// Block: 256 threads. Grid: cdiv(n, kSide) x cdiv(m, kSide). kSide: 64 or 128.
template <typename T, int kSide>
__device__ void gemm_tile(const T* a, const T* b, T* c, const GemmShape& shape) {
  using C = Compute<T>;
  // A thread's sums lie in groups of four rows and columns, 64 apart: their loads from shared
  // memory then touch every bank once.
  constexpr int kGroups = kSide / 64;
  constexpr int kPitch = kSide + 4;
  __shared__ alignas(16) C left[2][kGemmDepth][kPitch];
  __shared__ alignas(16) C right[2][kGemmDepth][kPitch];
  const int row_begin = static_cast<int>(blockIdx.y) * kSide;
  const int col_begin = static_cast<int>(blockIdx.x) * kSide;
  const int row_at = static_cast<int>(threadIdx.x) / 16 * 4;
  const int col_at = static_cast<int>(threadIdx.x) % 16 * 4;
  SliceLoader<T, kSide> a_slice(a, shape.m, shape.k, shape.a_transposed);
  SliceLoader<T, kSide> b_slice(b, shape.n, shape.k, !shape.b_transposed);
  C sums[kGroups * 4][kGroups * 4] = {};
  a_slice.load(row_begin, 0);
  b_slice.load(col_begin, 0);
  a_slice.store(left[0]);
  b_slice.store(right[0]);
  __syncthreads();
  for (int depth = 0, now = 0; depth < shape.k; depth += kGemmDepth, now ^= 1) {
    const bool more = depth + kGemmDepth < shape.k;
    if (more) {
      a_slice.load(row_begin, depth + kGemmDepth);
      b_slice.load(col_begin, depth + kGemmDepth);
    }
#pragma unroll
    for (int i = 0; i < kGemmDepth; ++i) {
      C rows[kGroups * 4], cols[kGroups * 4];
#pragma unroll
      for (int j = 0; j < kGroups * 4; ++j) {
        rows[j] = left[now][i][j / 4 * 64 + row_at + j % 4];
        cols[j] = right[now][i][j / 4 * 64 + col_at + j % 4];
      }
#pragma unroll
      for (int r = 0; r < kGroups * 4; ++r) {
#pragma unroll
        for (int s = 0; s < kGroups * 4; ++s) sums[r][s] = fma(rows[r], cols[s], sums[r][s]);
      }
    }
    if (more) {
      a_slice.store(left[now ^ 1]);
      b_slice.store(right[now ^ 1]);
    }
    __syncthreads();
  }
#pragma unroll
  for (int r = 0; r < kGroups * 4; ++r) {
    const int row = row_begin + r / 4 * 64 + row_at + r % 4;
    if (row >= shape.m) continue;
    T* out = c + static_cast<long long>(row) * shape.n;
#pragma unroll
    for (int s = 0; s < kGroups * 4; ++s) {
      const int col = col_begin + s / 4 * 64 + col_at + s % 4;
      if (col < shape.n) out[col] = narrow<T>(sums[r][s]);
    }
  }
}

}  // namespace gpuemu_kernels
