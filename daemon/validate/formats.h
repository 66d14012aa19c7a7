// Reading elements of any dtype as double, and what a float format knows about distance: unit in
// the last place, largest value, order number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/validate/validate.h"

namespace gpuemu {

/// The constants of a binary float format.
struct FloatFormat {
  int precision = 24;       ///< Bits of the significand, the hidden one included.
  int exponent_min = -126;  ///< Of the smallest normal number.
  double max = 0;           ///< Largest finite value.
  double unit = 0;          ///< u: half an ulp at 1.
  double floor = 0;         ///< F with subnormals kept: the smallest subnormal.
  double floor_ftz = 0;     ///< F with flush to zero allowed: the smallest normal.
};
/// REQUIRES: is_float(dtype).
const FloatFormat& format_of(DType dtype);

/// |distance of neighbours| at `value` in the format; finite values only.
double ulp_at(const FloatFormat& format, double value);

/// Position of a finite value among the format's values, -0 and +0 one apart; the value is rounded
/// to the format first (to nearest even), beyond its maximum it takes infinity's place.
int64_t order_number(const FloatFormat& format, double value);

/// |order_number(a) - order_number(b)|; UINT64_MAX when either is not finite.
uint64_t ulp_distance(const FloatFormat& format, double a, double b);

/// Elements [first, first + to.size()) as double. 64-bit integers round to nearest.
void decode(const TensorView& tensor, size_t first, std::span<double> to);
double element(const TensorView& tensor, size_t index);

}  // namespace gpuemu
