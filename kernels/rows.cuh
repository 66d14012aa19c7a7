// Rows that a block keeps in registers, so that memory is read once however often they are walked.
#pragma once

#include "kernels/packets.cuh"

namespace gpuemu_kernels {

/// The elements of one row that belong to the calling thread, as they are computed with.
template <typename T>
class CachedRow {
 public:
  using C = Compute<T>;
  static constexpr int kPackets = 4;
  static constexpr int kCount = Packet<T>::kCount;

  /// True when every row of `cols` elements, of all these arrays, is whole packets that fit.
  template <typename... Arrays>
  static __device__ __forceinline__ bool fits(int cols, const Arrays*... arrays) {
    const unsigned phases = (0u | ... | phase_of(arrays));
    return phases == 0u && cols % kCount == 0 &&
           cols <= static_cast<int>(blockDim.x) * kPackets * kCount;
  }

  __device__ __forceinline__ CachedRow(const T* row, int cols) : cols_(cols) {
    Packet<T> packets[kPackets];
#pragma unroll
    for (int p = 0; p < kPackets; ++p) {
      if (first(p) < cols_) packets[p] = Packet<T>::load(row + first(p));
    }
#pragma unroll
    for (int p = 0; p < kPackets; ++p) {
      if (first(p) >= cols_) continue;
#pragma unroll
      for (int j = 0; j < kCount; ++j) values_[p * kCount + j] = widen(packets[p].at[j]);
    }
  }

  /// f(value) of each element, which it may change.
  template <typename F>
  __device__ __forceinline__ void visit(F f) {
#pragma unroll
    for (int p = 0; p < kPackets; ++p) {
      if (first(p) >= cols_) continue;
#pragma unroll
      for (int j = 0; j < kCount; ++j) f(values_[p * kCount + j]);
    }
  }

  /// to[i] = f(row[i], more[i] ...)
  template <typename F, typename... More>
  __device__ __forceinline__ void write(T* to, F f, const More*... more) const {
#pragma unroll
    for (int p = 0; p < kPackets; ++p) {
      if (first(p) < cols_) write_packet(p, to + first(p), f, Packet<T>::load(more + first(p))...);
    }
  }

 private:
  __device__ __forceinline__ int first(int packet) const {
    return (packet * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * kCount;
  }
  template <typename F, typename... Packets>
  __device__ __forceinline__ void write_packet(int packet, T* to, F f,
                                               const Packets&... more) const {
    Packet<T> out;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      out.at[j] = narrow<T>(f(values_[packet * kCount + j], widen(more.at[j])...));
    }
    out.store(to);
  }

  int cols_;
  C values_[kPackets * kCount];
};

}  // namespace gpuemu_kernels
