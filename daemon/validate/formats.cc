#include "daemon/validate/formats.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "common/base/check.h"

namespace gpuemu {
namespace {

constexpr FloatFormat kFloat16{11, -14, 65504.0, 0x1p-11, 0x1p-24, 0x1p-14};
constexpr FloatFormat kBFloat16{8, -126, 0x1.FEp127, 0x1p-8, 0x1p-133, 0x1p-126};
constexpr FloatFormat kFloat32{24, -126, 0x1.FFFFFEp127, 0x1p-24, 0x1p-149, 0x1p-126};
constexpr FloatFormat kFloat64{53,      -1022,     std::numeric_limits<double>::max(),
                               0x1p-53, 0x1p-1074, 0x1p-1022};

double from_half(uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  double magnitude = 0;
  if (exponent == 31) {
    magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                              : std::numeric_limits<double>::infinity();
  } else if (exponent == 0) {
    magnitude = fraction * 0x1p-24;
  } else {
    const auto wide = (static_cast<uint64_t>(exponent - 15 + 1023) << 52) |
                      (static_cast<uint64_t>(fraction) << 42);
    magnitude = std::bit_cast<double>(wide);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

double from_bfloat(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

template <typename T>
void widen(const std::byte* from, std::span<double> to) {
  for (size_t i = 0; i < to.size(); ++i) {
    T value;
    std::memcpy(&value, from + i * sizeof(T), sizeof(T));
    to[i] = static_cast<double>(value);
  }
}

void widen_16(const std::byte* from, std::span<double> to, double (*convert)(uint16_t)) {
  for (size_t i = 0; i < to.size(); ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, from + i * 2, 2);
    to[i] = convert(bits);
  }
}

/// Exponent of the quantum (last place) of a finite magnitude.
int quantum_exponent(const FloatFormat& format, double magnitude) {
  const int exponent = magnitude == 0 ? format.exponent_min : std::ilogb(magnitude);
  return std::max(exponent, format.exponent_min) - (format.precision - 1);
}

}  // namespace

const FloatFormat& format_of(DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return kFloat16;
    case DType::BFloat16:
      return kBFloat16;
    case DType::Float64:
      return kFloat64;
    default:
      GPUEMU_CHECK(dtype == DType::Float32);
      return kFloat32;
  }
}

double ulp_at(const FloatFormat& format, double value) {
  return std::ldexp(1.0, quantum_exponent(format, std::fabs(value)));
}

int64_t order_number(const FloatFormat& format, double value) {
  const double magnitude = std::fabs(value);
  const int last_place = quantum_exponent(format, magnitude);
  // Beyond the maximum every finite value stands where infinity stands.
  const int place_max = std::ilogb(format.max) - (format.precision - 1);
  const int place = std::min(last_place, place_max);
  const int64_t hidden = int64_t{1} << (format.precision - 1);
  int64_t digits = 2 * hidden;
  if (last_place <= place_max) {
    digits = static_cast<int64_t>(std::nearbyint(std::ldexp(magnitude, -place)));
  }
  // Each step of the place holds `hidden` numbers; a carry out of the digits lands on the next one.
  const int64_t steps = place - (format.exponent_min - (format.precision - 1));
  const int64_t number = steps * hidden + digits;
  return std::signbit(value) ? -number - 1 : number;
}

uint64_t ulp_distance(const FloatFormat& format, double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<uint64_t>::max();
  const int64_t left = order_number(format, a), right = order_number(format, b);
  return left > right ? static_cast<uint64_t>(left) - static_cast<uint64_t>(right)
                      : static_cast<uint64_t>(right) - static_cast<uint64_t>(left);
}

void decode(const TensorView& tensor, size_t first, std::span<double> to) {
  const std::byte* from = tensor.data.data() + first * byte_size(tensor.dtype);
  switch (tensor.dtype) {
    case DType::Float16:
      return widen_16(from, to, from_half);
    case DType::BFloat16:
      return widen_16(from, to, from_bfloat);
    case DType::Float32:
      return widen<float>(from, to);
    case DType::Float64:
      return widen<double>(from, to);
    case DType::Int8:
      return widen<int8_t>(from, to);
    case DType::Int16:
      return widen<int16_t>(from, to);
    case DType::Int32:
      return widen<int32_t>(from, to);
    case DType::Int64:
      return widen<int64_t>(from, to);
    case DType::UInt8:
    case DType::Bool:
      return widen<uint8_t>(from, to);
    case DType::UInt16:
      return widen<uint16_t>(from, to);
    case DType::UInt32:
      return widen<uint32_t>(from, to);
    case DType::UInt64:
      return widen<uint64_t>(from, to);
  }
  GPUEMU_UNREACHABLE();
}

double element(const TensorView& tensor, size_t index) {
  double value = 0;
  decode(tensor, index, {&value, 1});
  return value;
}

}  // namespace gpuemu
