// The arithmetic of tensor cores: one element of D = A * B + C.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// What distinguishes the generations: how many products are added at once, and how many bits below
/// an f32's last one every term keeps.
struct DotModel {
  uint32_t block = 16;
  int extra_bits = 2;
};
DotModel dot_model(int sm, ptx::Type type);

/// A factor: significand * 2^(exponent - fraction bits of its type), or not finite.
struct Factor {
  int64_t significand = 0;  ///< With its sign.
  int exponent = 0;
  bool nan = false, infinite = false, negative = false;
};
/// From the raw bits of an f16, bf16, tf32 or f32.
Factor factor_of(uint32_t bits, ptx::Type type);

/// The sum of the products of `a` and `b`, factors of `type`, and of `c`. Every term is cut to the
/// largest one's last place before the sum, and the sum is cut to f32.
float dot_float(std::span<const Factor> a, std::span<const Factor> b, float c, ptx::Type type,
                const DotModel& model);

/// Sign or zero extended value of an integer element of 4 or 8 bits.
int32_t integer_element(uint32_t bits, ptx::Type type);

}  // namespace gpuemu::emulator
