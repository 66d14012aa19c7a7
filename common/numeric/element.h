// Reading and writing single elements and whole arrays of any element type. Bytes need no
// alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/numeric/dtype.h"

namespace gpuemu {

/// Exact except for 64-bit integers above 2^53, which are rounded to nearest even.
double read_as_double(DType dtype, const std::byte* element);
/// Floats round once to nearest even. Integers round to nearest even and saturate, NaN gives 0; a
/// bool is true unless the value is 0.
void write_from_double(DType dtype, double value, std::byte* element);

/// Exact for the integer types and bool (uint64 wraps); floats truncate and saturate, NaN gives 0.
int64_t read_as_int64(DType dtype, const std::byte* element);
/// read_as_int64() as unsigned; negative integers wrap.
uint64_t read_as_uint64(DType dtype, const std::byte* element);
/// Integer types saturate, floats round to nearest even, bool is `value != 0`.
void write_from_int64(DType dtype, int64_t value, std::byte* element);
void write_from_uint64(DType dtype, uint64_t value, std::byte* element);

/// `value` rounded to the dtype, as write_from_double does it.
double round_to(DType dtype, double value);

/// read_as_double of every element. REQUIRES: from.size() == to.size() * byte_size(dtype).
void widen_to_double(DType dtype, std::span<const std::byte> from, std::span<double> to);
/// write_from_double of every element. REQUIRES: to.size() == from.size() * byte_size(dtype).
void narrow_from_double(DType dtype, std::span<const double> from, std::span<std::byte> to);

/// Landmarks of a floating-point format, each exact in float64.
struct FloatLimits {
  double max, min_normal, min_subnormal, ulp_of_one;
};
/// REQUIRES: is_float(dtype).
FloatLimits float_limits(DType dtype);
/// Smallest and largest value; of 64-bit integers as rounded to float64. Floats: -max and max.
double lowest_value(DType dtype);
double highest_value(DType dtype);

}  // namespace gpuemu
