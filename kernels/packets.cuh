// Elementwise loops that move 16 bytes at once wherever the arrays allow it.
#pragma once

#include "kernels/element.cuh"

namespace gpuemu_kernels {

/// 16 bytes of elements in registers.
template <typename T>
struct Packet {
  static constexpr int kCount = 16 / sizeof(T);
  T at[kCount];

  static __device__ __forceinline__ Packet load(const T* from) {
    const uint4 raw = *reinterpret_cast<const uint4*>(from);
    Packet packet;
    memcpy(&packet, &raw, sizeof raw);
    return packet;
  }
  __device__ __forceinline__ void store(T* to) const {
    uint4 raw;
    memcpy(&raw, this, sizeof raw);
    *reinterpret_cast<uint4*>(to) = raw;
  }
};

/// How far an address is past a 16-byte boundary.
template <typename T>
__device__ __forceinline__ unsigned phase_of(const T* address) {
  return static_cast<unsigned>(reinterpret_cast<unsigned long long>(address) % 16u);
}

/// A range as elements before the first boundary, whole packets, and the rest.
struct PacketRange {
  long long head, packets;
};
/// No packets where the arrays do not lie alike: a packet of one would straddle two of another.
template <typename T, typename... Others>
__device__ __forceinline__ PacketRange packet_range(long long n, const T* first,
                                                    const Others*... others) {
  const unsigned phase = phase_of(first);
  if ((0 | ... | static_cast<int>(phase_of(others) != phase)) != 0) return {n, 0};
  const long long head = min(n, static_cast<long long>((16u - phase) % 16u / sizeof(T)));
  return {head, (n - head) / Packet<T>::kCount};
}

template <typename F, typename T, typename... Packets>
__device__ __forceinline__ void apply_packets(F f, T* to, const Packets&... from) {
  Packet<T> out;
#pragma unroll
  for (int j = 0; j < Packet<T>::kCount; ++j) out.at[j] = narrow<T>(f(widen(from.at[j])...));
  out.store(to);
}

/// y[i] = f(x[i] ...) for i < n, the calling thread being number `thread` of `threads`.
template <typename F, typename T, typename... In>
__device__ __forceinline__ void map_elements(long long thread, long long threads, long long n, F f,
                                             T* y, const In*... x) {
  const PacketRange range = packet_range(n, y, x...);
  for (long long i = thread; i < range.head; i += threads) y[i] = narrow<T>(f(widen(x[i])...));
  for (long long p = thread; p < range.packets; p += threads) {
    const long long i = range.head + p * Packet<T>::kCount;
    apply_packets(f, y + i, Packet<In>::load(x + i)...);
  }
  const long long rest = range.head + range.packets * Packet<T>::kCount;
  for (long long i = rest + thread; i < n; i += threads) y[i] = narrow<T>(f(widen(x[i])...));
}

}  // namespace gpuemu_kernels
