// The arithmetic of tensor cores, for one element of D = A * B + C.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// The parameters in which generations differ: how many products are added at once, how many bits
/// below an f32's last one each term keeps, and how many bits the sum keeps.
struct DotModel {
  uint32_t block = 16;
  int extra_bits = 2;
  int kept_bits = 24;
};
/// The instruction, which selects the unit.
enum class DotUnit : uint8_t { Mma, Wmma, Wgmma };
DotModel dot_model(int sm, ptx::Type type, DotUnit unit);

/// A factor: significand * 2^scale, or a non-finite value. The unit aligns by `exponent`, which is
/// the format's exponent even if the significand has leading zeros.
struct Factor {
  int64_t significand = 0;  ///< Signed.
  int exponent = 0, scale = 0;
  bool nan = false, infinite = false, negative = false;
};
/// Decodes the raw bits of an f16, bf16, tf32, f32, e4m3 or e5m2.
Factor factor_of(uint32_t bits, ptx::Type type);

/// Adds `c` and the products of `a` and `b`, block by block. Before each sum every term is
/// truncated to the last bit of the largest one, and the sum is truncated to f32. Returns the bits
/// of an f32.
uint32_t dot_float(std::span<const Factor> a, std::span<const Factor> b, uint32_t c,
                   const DotModel& model);
/// Computes it with an f16 accumulator, to which the sum of every block is rounded.
uint32_t dot_half(std::span<const Factor> a, std::span<const Factor> b, uint32_t c,
                  const DotModel& model);

/// Converts an e4m3 or e5m2 exactly to f16, as mma does on chips without a unit for 8-bit floats.
uint32_t half_from_fp8(uint32_t bits, ptx::Type type);

}  // namespace gpuemu::emulator
