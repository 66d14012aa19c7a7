// Reads elements of any dtype as double, and measures distances in a float format: unit in the last
// place, largest value, order number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "common/base/check.h"
#include "judge/bounds/comparison.h"

namespace gpuemu {

/// The constants of a binary float format.
struct FloatFormat {
  int precision = 24;  ///< Bits of the significand, including the hidden one.
  double max = 0;      ///< Largest finite value.
  double unit = 0;     ///< u: half an ulp at 1.
  double min_subnormal = 0;
  double min_normal = 0;
};
/// Requires is_float(dtype).
const FloatFormat& format_of(DType dtype);

/// Returns the largest power of two <= |value|; 0 below the smallest normal double. Finite values
/// only.
inline double power_of_two_of(double value) {
  constexpr uint64_t kExponentBits = uint64_t{0x7FF} << 52;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) & kExponentBits);
}

/// Returns the distance to the next value of the format at `value`; finite values only.
inline double ulp_at(const FloatFormat& format, double value) {
  return std::max(power_of_two_of(value), format.min_normal) * (2 * format.unit);
}

/// Returns the position of a finite value among the format's values; -0 and +0 are one apart.
/// Rounds the value to the format first (to nearest even); beyond the maximum it gets infinity's
/// position.
int64_t order_number(const FloatFormat& format, double value);

/// Returns |order_number(a) - order_number(b)|; UINT64_MAX if either is not finite.
uint64_t ulp_distance(const FloatFormat& format, double a, double b);

/// Converts elements [first, first + to.size()) to double. 64-bit integers round to nearest.
void decode(const TensorView& tensor, size_t first, std::span<double> to);
/// Like decode(), but without a copy if the tensor holds aligned float64; otherwise uses `buffer`.
std::span<const double> as_doubles(const TensorView& tensor, size_t first,
                                   std::span<double> buffer);
/// element() of any dtype.
double any_element(const TensorView& tensor, size_t index);

template <typename T>
double read_element(const TensorView& tensor, size_t index) {
  GPUEMU_CHECK((index + 1) * sizeof(T) <= tensor.data.size());
  T value{};
  std::memcpy(&value, tensor.data.data() + index * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

/// One element as double.
inline double element(const TensorView& tensor, size_t index) {
  // What most outputs and references hold, in a few instructions.
  if (tensor.dtype == DType::Float64) return read_element<double>(tensor, index);
  if (tensor.dtype == DType::Float32) return read_element<float>(tensor, index);
  return any_element(tensor, index);
}

}  // namespace gpuemu
