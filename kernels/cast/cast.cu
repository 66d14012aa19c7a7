// y = x in another type, for every pair: the entry of a pair is cast_FROM_TO. Floats round to
// nearest even; a float becomes the integer towards zero, the nearest end of the range where it
// does not fit, and 0 for NaN; integers wrap; bool is whether x differs from 0. Any one-dimensional
// grid and block.
#include "kernels/packets.cuh"

namespace gpuemu_kernels {

template <typename T>
constexpr bool kIsFloat = false;
template <>
constexpr bool kIsFloat<float> = true;
template <>
constexpr bool kIsFloat<double> = true;
template <>
constexpr bool kIsFloat<__half> = true;
template <>
constexpr bool kIsFloat<__nv_bfloat16> = true;
template <typename A, typename B>
constexpr bool kIsSame = false;
template <typename A>
constexpr bool kIsSame<A, A> = true;
template <typename T>
constexpr bool kIsSigned = static_cast<T>(-1) < static_cast<T>(0);

/// How a 16-bit float is made of the types that others fit into; each rounds once.
struct ToHalf {
  static __device__ __forceinline__ __half of(float value) { return __float2half_rn(value); }
  static __device__ __forceinline__ __half of(double value) { return __double2half(value); }
  static __device__ __forceinline__ __half of(long long value) { return __ll2half_rn(value); }
  static __device__ __forceinline__ __half of(unsigned long long value) {
    return __ull2half_rn(value);
  }
};
struct ToBfloat {
  static __device__ __forceinline__ __nv_bfloat16 of(float value) {
    return __float2bfloat16_rn(value);
  }
  static __device__ __forceinline__ __nv_bfloat16 of(double value) {
    return __double2bfloat16(value);
  }
  static __device__ __forceinline__ __nv_bfloat16 of(long long value) {
    return __ll2bfloat16_rn(value);
  }
  static __device__ __forceinline__ __nv_bfloat16 of(unsigned long long value) {
    return __ull2bfloat16_rn(value);
  }
};

template <typename Rounding, typename From>
__device__ __forceinline__ auto round_once(From value) {
  if constexpr (kIsFloat<From>) {
    return Rounding::of(value);
  } else if constexpr (sizeof(From) < 4) {
    return Rounding::of(static_cast<float>(value));
  } else if constexpr (kIsSigned<From>) {
    return Rounding::of(static_cast<long long>(value));
  } else {
    return Rounding::of(static_cast<unsigned long long>(value));
  }
}

template <typename To, typename C>
__device__ __forceinline__ To to_integer(C value) {
  constexpr int kBits = 8 * static_cast<int>(sizeof(To)) - (kIsSigned<To> ? 1 : 0);
  constexpr To kMost = static_cast<To>((1ull << (kBits - 1)) - 1 + (1ull << (kBits - 1)));
  constexpr To kLeast = kIsSigned<To> ? static_cast<To>(-kMost - 1) : static_cast<To>(0);
  // 2^kBits, the first number that does not fit, is exact in every float format that gets here.
  constexpr C kEnd = C(2) * static_cast<C>(1ull << (kBits - 1));
  if (value != value) return 0;
  if (value >= kEnd) return kMost;
  if (value <= (kIsSigned<To> ? -kEnd : C(0))) return kLeast;
  return static_cast<To>(value);
}

template <typename To, typename From>
__device__ __forceinline__ To convert(From value) {
  if constexpr (kIsFloat<From> && sizeof(From) == 2) {
    return convert<To>(widen(value));
  } else if constexpr (kIsSame<To, __half>) {
    return round_once<ToHalf>(value);
  } else if constexpr (kIsSame<To, __nv_bfloat16>) {
    return round_once<ToBfloat>(value);
  } else if constexpr (kIsSame<To, bool>) {
    return value != From(0);
  } else if constexpr (kIsFloat<From> && !kIsFloat<To>) {
    return to_integer<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

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
