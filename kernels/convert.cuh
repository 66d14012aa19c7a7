// One element from any type to any other, each rounded once. Floats round to nearest even; a float
// becomes the integer towards zero, the nearest end of the range where it does not fit, and 0 for
// NaN; integers wrap; bool is whether the value differs from 0.
#pragma once

#include "kernels/element.cuh"

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

}  // namespace gpuemu_kernels
