#include "judge/bounds/float_format.h"

#include <cmath>
#include <limits>

#include "common/base/check.h"
#include "common/numeric/element.h"

namespace gpuemu {
namespace {

constexpr FloatFormat kFloat16{11, 65504.0, 0x1p-11, 0x1p-24, 0x1p-14};
constexpr FloatFormat kBFloat16{8, 0x1.FEp127, 0x1p-8, 0x1p-133, 0x1p-126};
constexpr FloatFormat kFloat32{24, 0x1.FFFFFEp127, 0x1p-24, 0x1p-149, 0x1p-126};
constexpr FloatFormat kFloat64{53, std::numeric_limits<double>::max(), 0x1p-53, 0x1p-1074,
                               0x1p-1022};

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

namespace {

/// Returns the order number of a finite magnitude, computed from its definition.
int64_t place_of(const FloatFormat& format, double magnitude) {
  // Each power of two from the smallest normal number on starts a run of `hidden` numbers, which
  // the digits (hidden bit included) continue. A carry out of the digits lands on the next run.
  const auto runs = [&](double power) {
    return std::bit_cast<int64_t>(std::max(power, format.min_normal)) -
           std::bit_cast<int64_t>(format.min_normal);
  };
  const int64_t hidden = int64_t{1} << (format.precision - 1);
  const int shift = 53 - format.precision;
  const auto digits = static_cast<int64_t>(std::nearbyint(magnitude / ulp_at(format, magnitude)));
  const int64_t number = (runs(power_of_two_of(magnitude)) >> shift) + digits;
  const int64_t infinity = (runs(power_of_two_of(format.max)) >> shift) + 2 * hidden;
  return std::min(number, infinity);
}

}  // namespace

int64_t order_number(const FloatFormat& format, double value) {
  const double magnitude = std::fabs(value);
  int64_t place = 0;
  // The bits of a number without its sign are its order number.
  if (format.precision == kFloat32.precision) {
    place = std::bit_cast<int32_t>(static_cast<float>(magnitude));
  } else if (format.precision == kFloat64.precision) {
    place = std::bit_cast<int64_t>(magnitude);
  } else {
    place = place_of(format, magnitude);
  }
  return std::signbit(value) ? -place - 1 : place;
}

uint64_t ulp_distance(const FloatFormat& format, double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<uint64_t>::max();
  const int64_t left = order_number(format, a), right = order_number(format, b);
  return left > right ? static_cast<uint64_t>(left) - static_cast<uint64_t>(right)
                      : static_cast<uint64_t>(right) - static_cast<uint64_t>(left);
}

void decode(const TensorView& tensor, size_t first, std::span<double> to) {
  // A bool that is neither 0 nor 1 is equal to neither.
  const DType dtype = tensor.dtype == DType::Bool ? DType::UInt8 : tensor.dtype;
  const size_t size = byte_size(dtype);
  widen_to_double(dtype, tensor.data.subspan(first * size, to.size() * size), to);
}

std::span<const double> as_doubles(const TensorView& tensor, size_t first,
                                   std::span<double> buffer) {
  const auto* data = tensor.data.data();
  const bool aligned = reinterpret_cast<uintptr_t>(data) % alignof(double) == 0;
  if (tensor.dtype == DType::Float64 && aligned) {
    return {reinterpret_cast<const double*>(data) + first, buffer.size()};
  }
  decode(tensor, first, buffer);
  return buffer;
}

double any_element(const TensorView& tensor, size_t index) {
  const DType dtype = tensor.dtype == DType::Bool ? DType::UInt8 : tensor.dtype;
  GPUEMU_CHECK((index + 1) * byte_size(dtype) <= tensor.data.size());
  return read_as_double(dtype, tensor.data.data() + index * byte_size(dtype));
}

}  // namespace gpuemu
