// Conversions of float16 and bfloat16 patterns. Narrowing rounds once to nearest even, also from
// float64. Subnormals are kept, overflow gives infinity, NaN stays NaN with the same sign.
#pragma once

#include <bit>
#include <cstdint>

namespace gpuemu {

namespace internal {

/// A 16-bit binary format: kMantissa fraction bits; the rest of the 15 bits are the exponent.
template <int kMantissa>
struct Format16 {
  static constexpr int kExponent = 15 - kMantissa;
  static constexpr int kBias = (1 << (kExponent - 1)) - 1;
  static constexpr uint16_t kInfinity = static_cast<uint16_t>(((1 << kExponent) - 1) << kMantissa);

  static constexpr uint16_t from_double(double value) {
    constexpr int kShift = 52 - kMantissa;
    const auto bits = std::bit_cast<uint64_t>(value);
    const auto sign = static_cast<uint16_t>((bits >> 63) << 15);
    const uint64_t magnitude = bits & ~(uint64_t{1} << 63);
    constexpr uint64_t kMinNormal = static_cast<uint64_t>(1023 + 1 - kBias) << 52;
    constexpr uint64_t kTooLarge = static_cast<uint64_t>(1023 + 1 + kBias) << 52;
    // The quiet bit is set, so that the rest of the payload may be lost.
    if (magnitude > uint64_t{0x7FF} << 52) {
      const auto payload = static_cast<uint16_t>((magnitude >> kShift) & ((1 << kMantissa) - 1));
      return static_cast<uint16_t>(sign | kInfinity | (1 << (kMantissa - 1)) | payload);
    }
    if (magnitude >= kTooLarge) return static_cast<uint16_t>(sign | kInfinity);
    if (magnitude < kMinNormal) {
      // Adding it to a number whose last place is the smallest subnormal makes the hardware round.
      constexpr uint64_t kMagic = static_cast<uint64_t>(1023 + 52 + 1 - kBias - kMantissa) << 52;
      const double sum = std::bit_cast<double>(magnitude) + std::bit_cast<double>(kMagic);
      return static_cast<uint16_t>(sign | (std::bit_cast<uint64_t>(sum) - kMagic));
    }
    const uint64_t odd = (magnitude >> kShift) & 1;
    const uint64_t rounded = magnitude + ((uint64_t{1} << (kShift - 1)) - 1) + odd;
    constexpr uint64_t kRebias = static_cast<uint64_t>(1023 - kBias) << kMantissa;
    return static_cast<uint16_t>(sign | ((rounded >> kShift) - kRebias));
  }

  /// Branch-free, so that loops over it can be vectorised.
  static constexpr float to_float(uint16_t pattern) {
    constexpr int kShift = 23 - kMantissa;
    constexpr uint32_t kRebias = static_cast<uint32_t>(127 - kBias) << 23;
    const uint32_t sign = static_cast<uint32_t>(pattern & 0x8000u) << 16;
    const uint32_t magnitude = pattern & 0x7FFFu;
    const uint32_t wide = magnitude << kShift;
    constexpr uint32_t kOne = kRebias + (1u << 23);
    const auto subnormal =
        std::bit_cast<uint32_t>(std::bit_cast<float>(wide + kOne) - std::bit_cast<float>(kOne));
    const uint32_t normal = wide + kRebias + (magnitude >= kInfinity ? kRebias : 0);
    return std::bit_cast<float>(sign | (magnitude < (1u << kMantissa) ? subnormal : normal));
  }
};

}  // namespace internal

constexpr uint16_t float16_from_double(double value) {
  return internal::Format16<10>::from_double(value);
}
/// A float32 is exact in float64, so this rounds only once too.
constexpr uint16_t float16_from_float(float value) {
  return float16_from_double(static_cast<double>(value));
}
constexpr float float_from_float16(uint16_t pattern) {
  return internal::Format16<10>::to_float(pattern);
}
constexpr double double_from_float16(uint16_t pattern) {
  return static_cast<double>(float_from_float16(pattern));
}

constexpr uint16_t bfloat16_from_double(double value) {
  return internal::Format16<7>::from_double(value);
}
constexpr uint16_t bfloat16_from_float(float value) {
  return bfloat16_from_double(static_cast<double>(value));
}
constexpr float float_from_bfloat16(uint16_t pattern) {
  return std::bit_cast<float>(static_cast<uint32_t>(pattern) << 16);
}
constexpr double double_from_bfloat16(uint16_t pattern) {
  return static_cast<double>(float_from_bfloat16(pattern));
}

}  // namespace gpuemu
