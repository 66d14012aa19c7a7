// Reads and writes single elements and whole arrays of any element type. Bytes need no alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/numeric/dtype.h"

namespace gpuemu {

/// Exact except for 64-bit integers above 2^53, which are rounded to nearest even.
double read_as_double(DType dtype, const std::byte* element);
/// Floats round once to nearest even. Integers round to nearest even and saturate, with NaN as 0. A
/// bool is true unless the value is 0.
void write_from_double(DType dtype, double value, std::byte* element);

/// Exact for integer types and bool (uint64 wraps). Floats truncate and saturate, with NaN as 0.
int64_t read_as_int64(DType dtype, const std::byte* element);
/// read_as_int64() as unsigned; negative integers wrap.
uint64_t read_as_uint64(DType dtype, const std::byte* element);
/// Integer types saturate, floats round to nearest even, bool is `value != 0`.
void write_from_int64(DType dtype, int64_t value, std::byte* element);
void write_from_uint64(DType dtype, uint64_t value, std::byte* element);

/// Rounds `value` to the dtype like write_from_double().
double round_to(DType dtype, double value);

/// Converts every element like read_as_double(). Requires from.size() == to.size() *
/// byte_size(dtype).
void widen_to_double(DType dtype, std::span<const std::byte> from, std::span<double> to);
/// Converts every element like write_from_double(). Requires to.size() == from.size() *
/// byte_size(dtype).
void narrow_from_double(DType dtype, std::span<const double> from, std::span<std::byte> to);

/// Characteristic values of a floating-point format, all exact in float64.
struct FloatLimits {
  double max, min_normal, min_subnormal, ulp_of_one;
};
/// Requires is_float(dtype).
FloatLimits float_limits(DType dtype);
/// Return the smallest and largest value; 64-bit integers rounded to float64. Floats: -max and max.
double lowest_value(DType dtype);
double highest_value(DType dtype);

}  // namespace gpuemu
