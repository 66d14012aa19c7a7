#include "runtime/emulator/numerics/narrow.h"

#include <bit>

namespace gpuemu::emulator {

uint32_t float_from_half(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000) << 16, rest = bits & 0x7fff;
  if (rest > 0x7c00) return 0x7fffffff;
  if (rest == 0x7c00) return sign | 0x7f800000;
  return sign | std::bit_cast<uint32_t>(std::bit_cast<float>(rest << 13) * 0x1p112f);
}

uint32_t half_from_float(uint32_t bits) {
  const uint32_t sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
  if (size > 0x7f800000) return 0x7fff;
  if (size >= 0x477ff000) return sign | 0x7c00;
  if (size < 0x38800000) {  // Adding 0.5 leaves units of 2^-24 in the low bits.
    return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5f) - 0x3f000000);
  }
  return sign | (size + 0xfff + (size >> 13 & 1) - 0x38000000) >> 13;
}

uint32_t add_floats(uint32_t a, uint32_t b) {
  const float sum = std::bit_cast<float>(a) + std::bit_cast<float>(b);
  return sum != sum ? 0x7fffffff : std::bit_cast<uint32_t>(sum);
}

/// An f32 has more than twice the bits of an f16, so rounding twice gives the same result.
uint32_t add_halves(uint32_t a, uint32_t b) {
  return half_from_float(add_floats(float_from_half(a), float_from_half(b)));
}

}  // namespace gpuemu::emulator
