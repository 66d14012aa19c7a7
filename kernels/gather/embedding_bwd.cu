// dtable[row] = the sum of dy[j] over the places j where index[j] is the row, in their order, so
// that the result is the same every time; atomics would add in any. One block of 256 threads per
// row in strides: it looks through the index and reads only the rows of dy that are its own.
#include "kernels/element.cuh"

namespace gpuemu_kernels {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr int kLooks = 4;    ///< Index elements that a thread reads between two barriers.
constexpr int kColumns = 4;  ///< Columns of a thread.

/// Finds the next kLooks * kThreads places that name `row`: a bit for each.
template <typename I>
struct Votes {
  unsigned of[kLooks][kWarps];

  /// False when none does. Every thread must call.
  __device__ __forceinline__ bool take(const I* index, long long row, int first, int count) {
    bool any = false;
#pragma unroll
    for (int look = 0; look < kLooks; ++look) {
      const int at = first + look * kThreads + static_cast<int>(threadIdx.x);
      const bool named = at < count && index[at] == row;
      const unsigned votes = __ballot_sync(0xffffffffu, named);
      if (threadIdx.x % 32u == 0u) of[look][threadIdx.x / 32u] = votes;
      any = any || named;
    }
    return __syncthreads_or(any) != 0;
  }
};

/// Adds what the votes name to the thread's columns. dy begins at the first place and at the first
/// column of the block, of which there are `width`.
template <typename T, typename I>
__device__ __forceinline__ void add_rows(const Votes<I>& votes, const T* dy, int pitch, int width,
                                         Compute<T> (&sums)[kColumns]) {
  for (int group = 0; group < kLooks * kWarps; ++group) {
    for (unsigned left = votes.of[group / kWarps][group % kWarps]; left != 0u; left &= left - 1u) {
      const long long place = group * 32 + __ffs(static_cast<int>(left)) - 1;
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const int col = c * kThreads + static_cast<int>(threadIdx.x);
        if (col < width) sums[c] += widen(dy[place * pitch + col]);
      }
    }
  }
}

template <typename T, typename I>
__device__ void embedding_rows(const I* index, const T* dy, T* dtable, int rows, int cols,
                               int count) {
  __shared__ Votes<I> votes;
  constexpr int kTile = kColumns * kThreads;
  const int tiles = (cols + kTile - 1) / kTile;
  const long long all = static_cast<long long>(rows) * tiles;
  for (long long at = blockIdx.x; at < all; at += gridDim.x) {
    const long long row = at / tiles;
    const int first_col = static_cast<int>(at % tiles) * kTile;
    Compute<T> sums[kColumns] = {};
    for (int first = 0; first < count; first += kLooks * kThreads) {
      if (!votes.take(index, row, first, count)) continue;
      add_rows(votes, dy + static_cast<long long>(first) * cols + first_col, cols, cols - first_col,
               sums);
      __syncthreads();
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int col = first_col + c * kThreads + static_cast<int>(threadIdx.x);
      if (col < cols) dtable[row * cols + col] = narrow<T>(sums[c]);
    }
  }
}

template <typename T>
__device__ void embedding_bwd_int32_body(const int* index, const T* dy, T* dtable, int rows,
                                         int cols, int count) {
  embedding_rows(index, dy, dtable, rows, cols, count);
}
template <typename T>
__device__ void embedding_bwd_int64_body(const long long* index, const T* dy, T* dtable, int rows,
                                         int cols, int count) {
  embedding_rows(index, dy, dtable, rows, cols, count);
}

GPUEMU_ENTRIES(embedding_bwd_int32,
               (const int* index, const T* dy, T* dtable, int rows, int cols, int count),
               (index, dy, dtable, rows, cols, count))
GPUEMU_ENTRIES(embedding_bwd_int64,
               (const long long* index, const T* dy, T* dtable, int rows, int cols, int count),
               (index, dy, dtable, rows, cols, count))

}  // namespace gpuemu_kernels
