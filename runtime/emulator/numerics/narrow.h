// Conversions between f16 and f32 as raw bits. Every NaN result is the GPU's canonical NaN.
#pragma once

#include <cstdint>

namespace gpuemu::emulator {

uint32_t float_from_half(uint32_t bits);
/// Rounds to the nearest, ties to even.
uint32_t half_from_float(uint32_t bits);
uint32_t add_halves(uint32_t a, uint32_t b);
uint32_t add_floats(uint32_t a, uint32_t b);

}  // namespace gpuemu::emulator
