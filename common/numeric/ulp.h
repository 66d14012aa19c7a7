// The distance of two floating-point numbers in units in the last place: how many steps of the
// format are between them. -0 and +0 are equal.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/numeric/dtype.h"

namespace gpuemu {

/// The distance if either side is NaN or infinite.
inline constexpr uint64_t kUlpNotFinite = ~uint64_t{0};

uint64_t ulp_distance_float16(uint16_t a, uint16_t b);   ///< Patterns.
uint64_t ulp_distance_bfloat16(uint16_t a, uint16_t b);  ///< Patterns.
uint64_t ulp_distance(float a, float b);
uint64_t ulp_distance(double a, double b);

/// Returns the distance of two elements; for integers and bool, the absolute difference.
uint64_t ulp_distance(DType dtype, const std::byte* a, const std::byte* b);
/// Returns the distance of two values after rounding each to the dtype.
uint64_t ulp_distance(DType dtype, double a, double b);

}  // namespace gpuemu
