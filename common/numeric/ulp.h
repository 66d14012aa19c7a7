// Distance of two floating-point numbers in units in the last place: how many steps of the format
// lie between them. -0 and +0 are the same point.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/numeric/dtype.h"

namespace gpuemu {

/// What a distance is when a side is NaN or infinite.
inline constexpr uint64_t kUlpNotFinite = ~uint64_t{0};

uint64_t ulp_distance_float16(uint16_t a, uint16_t b);   ///< Patterns.
uint64_t ulp_distance_bfloat16(uint16_t a, uint16_t b);  ///< Patterns.
uint64_t ulp_distance(float a, float b);
uint64_t ulp_distance(double a, double b);

/// Distance of two elements; of integers and bool the absolute difference.
uint64_t ulp_distance(DType dtype, const std::byte* a, const std::byte* b);
/// Distance of two values after each is rounded to the dtype.
uint64_t ulp_distance(DType dtype, double a, double b);

}  // namespace gpuemu
