// Rows that a block keeps in registers, so that memory is read once however often they are walked.
#pragma once

#include "kernels/packets.cuh"

namespace gpuemu_kernels {

/// The packets of one row that belong to the calling thread.
template <typename T>
class CachedRow {
 public:
  static constexpr int kPackets = 4;

  /// True when every row of `cols` elements, of all these arrays, is whole packets that fit.
  template <typename... Arrays>
  static __device__ __forceinline__ bool fits(int cols, const Arrays*... arrays) {
    const unsigned phases = (0u | ... | phase_of(arrays));
    return phases == 0u && cols % Packet<T>::kCount == 0 &&
           cols <= static_cast<int>(blockDim.x) * kPackets * Packet<T>::kCount;
  }

  __device__ __forceinline__ CachedRow(const T* row, int cols) : cols_(cols) {
#pragma unroll
    for (int p = 0; p < kPackets; ++p) {
      if (first(p) < cols_) packets_[p] = Packet<T>::load(row + first(p));
    }
  }

  /// f(value) of each element.
  template <typename F>
  __device__ __forceinline__ void visit(F f) const {
#pragma unroll
    for (int p = 0; p < kPackets; ++p) {
      if (first(p) >= cols_) continue;
#pragma unroll
      for (int j = 0; j < Packet<T>::kCount; ++j) f(widen(packets_[p].at[j]));
    }
  }

  /// to[i] = f(row[i], more[i] ...)
  template <typename F, typename... More>
  __device__ __forceinline__ void write(T* to, F f, const More*... more) const {
#pragma unroll
    for (int p = 0; p < kPackets; ++p) {
      if (first(p) >= cols_) continue;
      apply_packets(f, to + first(p), packets_[p], Packet<T>::load(more + first(p))...);
    }
  }

 private:
  __device__ __forceinline__ int first(int packet) const {
    return (packet * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) *
           Packet<T>::kCount;
  }

  int cols_;
  Packet<T> packets_[kPackets];
};

}  // namespace gpuemu_kernels
