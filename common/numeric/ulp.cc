// Computes distances from sign-magnitude patterns.
#include "common/numeric/ulp.h"

#include <array>
#include <bit>
#include <cstring>

#include "common/numeric/element.h"

namespace gpuemu {
namespace {

/// Maps sign-magnitude patterns to integers in the order of their values.
uint64_t distance(uint64_t a, uint64_t b, int bits, uint64_t infinity) {
  const uint64_t sign = uint64_t{1} << (bits - 1);
  const uint64_t magnitude_a = a & (sign - 1);
  const uint64_t magnitude_b = b & (sign - 1);
  if (magnitude_a >= infinity || magnitude_b >= infinity) return kUlpNotFinite;
  if ((a & sign) != (b & sign)) return magnitude_a + magnitude_b;
  return magnitude_a > magnitude_b ? magnitude_a - magnitude_b : magnitude_b - magnitude_a;
}

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

uint64_t ulp_distance_float16(uint16_t a, uint16_t b) { return distance(a, b, 16, 0x7C00); }
uint64_t ulp_distance_bfloat16(uint16_t a, uint16_t b) { return distance(a, b, 16, 0x7F80); }

uint64_t ulp_distance(float a, float b) {
  return distance(std::bit_cast<uint32_t>(a), std::bit_cast<uint32_t>(b), 32, 0x7F800000);
}

uint64_t ulp_distance(double a, double b) {
  return distance(std::bit_cast<uint64_t>(a), std::bit_cast<uint64_t>(b), 64,
                  uint64_t{0x7FF} << 52);
}

uint64_t ulp_distance(DType dtype, const std::byte* a, const std::byte* b) {
  switch (dtype) {
    case DType::Float16:
      return ulp_distance_float16(load<uint16_t>(a), load<uint16_t>(b));
    case DType::BFloat16:
      return ulp_distance_bfloat16(load<uint16_t>(a), load<uint16_t>(b));
    case DType::Float32:
      return ulp_distance(load<float>(a), load<float>(b));
    case DType::Float64:
      return ulp_distance(load<double>(a), load<double>(b));
    default:
      break;
  }
  if (is_signed_integer(dtype)) {
    const int64_t x = read_as_int64(dtype, a);
    const int64_t y = read_as_int64(dtype, b);
    return x > y ? static_cast<uint64_t>(x) - static_cast<uint64_t>(y)
                 : static_cast<uint64_t>(y) - static_cast<uint64_t>(x);
  }
  const uint64_t x = read_as_uint64(dtype, a);
  const uint64_t y = read_as_uint64(dtype, b);
  return x > y ? x - y : y - x;
}

uint64_t ulp_distance(DType dtype, double a, double b) {
  std::array<std::byte, 8> x{};
  std::array<std::byte, 8> y{};
  write_from_double(dtype, a, x.data());
  write_from_double(dtype, b, y.data());
  return ulp_distance(dtype, x.data(), y.data());
}

}  // namespace gpuemu
