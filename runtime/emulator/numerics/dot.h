// The arithmetic of tensor cores: one element of D = A * B + C.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/ptx/module.h"

namespace gpuemu::emulator {

/// What distinguishes the generations: how many products are added at once, how many bits below an
/// f32's last one every term keeps, and how many bits the sum keeps.
struct DotModel {
  uint32_t block = 16;
  int extra_bits = 2;
  int kept_bits = 24;
};
/// The instruction that feeds the unit.
enum class DotUnit : uint8_t { Mma, Wmma, Wgmma };
DotModel dot_model(int sm, ptx::Type type, DotUnit unit);

/// A factor: significand * 2^scale, or not finite. `exponent` is what the unit compares: that of
/// the format, whatever zeros the significand begins with.
struct Factor {
  int64_t significand = 0;  ///< With its sign.
  int exponent = 0, scale = 0;
  bool nan = false, infinite = false, negative = false;
};
/// From the raw bits of an f16, bf16, tf32, f32, e4m3 or e5m2.
Factor factor_of(uint32_t bits, ptx::Type type);

/// The sum of the products of `a` and `b` and of `c`, block by block: every term is cut to the
/// largest one's last place before the sum, and the sum is cut to f32. Returns the bits of an f32.
uint32_t dot_float(std::span<const Factor> a, std::span<const Factor> b, uint32_t c,
                   const DotModel& model);
/// A dot product with an accumulator of f16, to which every block's sum is rounded.
uint32_t dot_half(std::span<const Factor> a, std::span<const Factor> b, uint32_t c,
                  const DotModel& model);

/// The f16 that holds an e4m3 or e5m2 exactly: how mma reads them where the chip has no unit for
/// them.
uint32_t half_from_fp8(uint32_t bits, ptx::Type type);

/// Sign or zero extended value of an integer element of 1, 4 or 8 bits.
int32_t integer_element(uint32_t bits, ptx::Type type);

}  // namespace gpuemu::emulator
