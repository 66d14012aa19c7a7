// The formats of floats that shadow execution follows, with their precision and range.
#pragma once

#include <cstdint>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// How the bits of a float are read.
enum class Format : uint8_t { None, F16, BF16, F32, F64 };
Format format_of(ptx::Type type);
uint32_t bytes_of(Format format);
/// Half of the distance between 1 and the next value.
double unit_of(Format format);
/// Half of the smallest subnormal number: what rounding to a multiple of it can do.
double half_smallest(Format format);
double smallest_normal(Format format);
/// The value that the bits mean.
double value_of(uint64_t bits, Format format);
/// Where the last place of a format is a whole number.
bool is_magic(double value, Format format);

}  // namespace gpuemu::emulator
