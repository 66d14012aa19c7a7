// Reading elements of any dtype as double, and what a float format knows about distance: unit in
// the last place, largest value, order number.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// The constants of a binary float format.
struct FloatFormat {
  int precision = 24;  ///< Bits of the significand, the hidden one included.
  double max = 0;      ///< Largest finite value.
  double unit = 0;     ///< u: half an ulp at 1.
  double min_subnormal = 0;
  double min_normal = 0;
};
/// REQUIRES: is_float(dtype).
const FloatFormat& format_of(DType dtype);

/// The largest power of two <= |value|; 0 below the smallest normal double. Finite values only.
inline double power_of_two_of(double value) {
  constexpr uint64_t kExponentBits = uint64_t{0x7FF} << 52;
  return std::bit_cast<double>(std::bit_cast<uint64_t>(value) & kExponentBits);
}

/// Distance of neighbours at `value` in the format; finite values only.
inline double ulp_at(const FloatFormat& format, double value) {
  return std::max(power_of_two_of(value), format.min_normal) * (2 * format.unit);
}

/// Position of a finite value among the format's values, -0 and +0 one apart; the value is rounded
/// to the format first (to nearest even), beyond its maximum it takes infinity's place.
int64_t order_number(const FloatFormat& format, double value);

/// |order_number(a) - order_number(b)|; UINT64_MAX when either is not finite.
uint64_t ulp_distance(const FloatFormat& format, double a, double b);

/// Elements [first, first + to.size()) as double. 64-bit integers round to nearest.
void decode(const TensorView& tensor, size_t first, std::span<double> to);
/// decode() without a copy where the tensor holds float64 in aligned memory, else through `buffer`.
std::span<const double> as_doubles(const TensorView& tensor, size_t first,
                                   std::span<double> buffer);
double element(const TensorView& tensor, size_t index);

}  // namespace gpuemu
