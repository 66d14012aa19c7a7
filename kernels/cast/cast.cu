// y = x in another type, for every pair: the entry of a pair is cast_FROM_TO. kernels/convert.cuh
// says how an element is converted. Any one-dimensional grid and block.
#include "kernels/convert.cuh"
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

/// As many elements as a 16-byte packet of the wider type has.
template <typename From, typename To>
__device__ __forceinline__ void cast_packet(const From* x, To* y) {
  constexpr int kCount =
      16 / static_cast<int>(sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To));
  struct alignas(kCount * sizeof(From)) Loaded {
    From at[kCount];
  };
  struct alignas(kCount * sizeof(To)) Stored {
    To at[kCount];
  };
  const Loaded in = *reinterpret_cast<const Loaded*>(x);
  Stored out;
#pragma unroll
  for (int j = 0; j < kCount; ++j) out.at[j] = convert<To>(in.at[j]);
  *reinterpret_cast<Stored*>(y) = out;
}

template <typename From, typename To>
__device__ void cast_elements(const From* x, To* y, long long n) {
  const long long thread = thread_index(), threads = thread_count();
  long long done = 0;
  if constexpr (kIsFloat<From> && kIsFloat<To>) {
    constexpr int kCount =
        16 / static_cast<int>(sizeof(From) > sizeof(To) ? sizeof(From) : sizeof(To));
    const bool aligned = (phase_of(x) | phase_of(y)) == 0;
    const long long packets = aligned ? n / kCount : 0;
    for (long long p = thread; p < packets; p += threads) {
      cast_packet(x + p * kCount, y + p * kCount);
    }
    done = packets * kCount;
  }
  for (long long i = done + thread; i < n; i += threads) y[i] = convert<To>(x[i]);
}

#define GPUEMU_CAST(from, From, to, To)                                              \
  extern "C" __global__ void cast_##from##_##to(const From* x, To* y, long long n) { \
    cast_elements(x, y, n);                                                          \
  }
#define GPUEMU_CASTS_TO(to, To)                   \
  GPUEMU_CAST(float16, __half, to, To)            \
  GPUEMU_CAST(bfloat16, __nv_bfloat16, to, To)    \
  GPUEMU_CAST(float32, float, to, To)             \
  GPUEMU_CAST(float64, double, to, To)            \
  GPUEMU_CAST(int8, signed char, to, To)          \
  GPUEMU_CAST(int16, short, to, To)               \
  GPUEMU_CAST(int32, int, to, To)                 \
  GPUEMU_CAST(int64, long long, to, To)           \
  GPUEMU_CAST(uint8, unsigned char, to, To)       \
  GPUEMU_CAST(uint16, unsigned short, to, To)     \
  GPUEMU_CAST(uint32, unsigned, to, To)           \
  GPUEMU_CAST(uint64, unsigned long long, to, To) \
  GPUEMU_CAST(bool, bool, to, To)

GPUEMU_CASTS_TO(float16, __half)
GPUEMU_CASTS_TO(bfloat16, __nv_bfloat16)
GPUEMU_CASTS_TO(float32, float)
GPUEMU_CASTS_TO(float64, double)
GPUEMU_CASTS_TO(int8, signed char)
GPUEMU_CASTS_TO(int16, short)
GPUEMU_CASTS_TO(int32, int)
GPUEMU_CASTS_TO(int64, long long)
GPUEMU_CASTS_TO(uint8, unsigned char)
GPUEMU_CASTS_TO(uint16, unsigned short)
GPUEMU_CASTS_TO(uint32, unsigned)
GPUEMU_CASTS_TO(uint64, unsigned long long)
GPUEMU_CASTS_TO(bool, bool)

}  // namespace gpuemu_kernels
