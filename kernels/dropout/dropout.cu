// y = x / (1 - p) where it is kept and 0 elsewhere; an element is dropped when its 32 random bits
// are below `drop` = p * 2^32. The bits of element i are word i % 4 of Philox4x32-10 with the
// counter (i / 4, offset) and the seed as key; key[0] is the seed, key[1] the offset, in device
// memory, so that a replayed graph sees what the host wrote there. y may be x. Any one-dimensional
// grid and block.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

struct PhiloxWords {
  unsigned at[4];
};

/// Ten rounds of Philox4x32 (Salmon, Moraes, Dror, Shaw: Parallel random numbers, as easy as 1, 2,
/// 3).
__device__ __forceinline__ PhiloxWords philox(unsigned long long counter, unsigned long long offset,
                                              unsigned long long seed) {
  unsigned a = static_cast<unsigned>(counter), b = static_cast<unsigned>(counter >> 32);
  unsigned c = static_cast<unsigned>(offset), d = static_cast<unsigned>(offset >> 32);
  unsigned key_low = static_cast<unsigned>(seed), key_high = static_cast<unsigned>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const unsigned long long left = 0xD2511F53ull * a, right = 0xCD9E8D57ull * c;
    a = static_cast<unsigned>(right >> 32) ^ b ^ key_low;
    b = static_cast<unsigned>(right);
    c = static_cast<unsigned>(left >> 32) ^ d ^ key_high;
    d = static_cast<unsigned>(left);
    key_low += 0x9E3779B9u;
    key_high += 0xBB67AE85u;
  }
  return {{a, b, c, d}};
}

/// What a thread works on at once: whole packets, and whole groups of four words.
template <typename T>
struct DropoutRun {
  static constexpr int kCount = Packet<T>::kCount < 4 ? 4 : Packet<T>::kCount;
  static constexpr int kPackets = kCount / Packet<T>::kCount;
  bool kept[kCount];

  __device__ __forceinline__ DropoutRun(long long first, const unsigned long long* key,
                                        unsigned long long drop) {
#pragma unroll
    for (int group = 0; group < kCount / 4; ++group) {
      const PhiloxWords words = philox(first / 4 + group, key[1], key[0]);
#pragma unroll
      for (int j = 0; j < 4; ++j) kept[group * 4 + j] = words.at[j] >= drop;
    }
  }
};

template <typename T>
__device__ void dropout_body(const T* x, const unsigned long long* key, T* y, long long n,
                             unsigned long long drop) {
  using C = Compute<T>;
  using Run = DropoutRun<T>;
  const C scale = C(4294967296.0) / static_cast<C>(4294967296ull - drop);
  const bool packets = (phase_of(x) | phase_of(y)) == 0u;
  for (long long first = thread_index() * Run::kCount; first < n;
       first += thread_count() * Run::kCount) {
    const Run run(first, key, drop);
    if (packets && first + Run::kCount <= n) {
#pragma unroll
      for (int p = 0; p < Run::kPackets; ++p) {
        constexpr int kCount = Packet<T>::kCount;
        Packet<T> values = Packet<T>::load(x + first + p * kCount);
#pragma unroll
        for (int j = 0; j < kCount; ++j) {
          const C kept = widen(values.at[j]) * scale;
          values.at[j] = narrow<T>(run.kept[p * kCount + j] ? kept : C(0));
        }
        values.store(y + first + p * kCount);
      }
      continue;
    }
#pragma unroll
    for (int j = 0; j < Run::kCount; ++j) {
      if (first + j < n) y[first + j] = narrow<T>(run.kept[j] ? widen(x[first + j]) * scale : C(0));
    }
  }
}

GPUEMU_ENTRIES(dropout,
               (const T* x, const unsigned long long* key, T* y, long long n,
                unsigned long long drop),
               (x, key, y, n, drop))

}  // namespace gpuemu_kernels
