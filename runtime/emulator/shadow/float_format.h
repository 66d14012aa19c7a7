// The float formats that shadow execution supports, with their precision and range.
#pragma once

#include <cstdint>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// A float format; None for bits that are no float.
enum class Format : uint8_t { None, F16, BF16, F32, F64 };
Format format_of(ptx::Type type);
uint32_t bytes_of(Format format);
/// Returns half the distance between 1 and the next value.
double unit_of(Format format);
/// Returns half the smallest subnormal number: the largest error of rounding to a multiple of it.
double half_smallest(Format format);
double smallest_normal(Format format);
/// Returns the value of the bits.
double value_of(uint64_t bits, Format format);
/// Returns whether sums with the value round to whole numbers of the format (as with 1.5 * 2^23).
bool is_magic(double value, Format format);

}  // namespace gpuemu::emulator
