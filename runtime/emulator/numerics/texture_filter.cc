// Converts and blends the channels of texels. What rounds, and to how many bits, was measured on an
// H200: integers are blended as 16-bit fractions, floats and halves as integers with the exponent
// of the greatest texel of a plane.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "runtime/emulator/numerics/texture.h"

namespace gpuemu::emulator {
namespace {
using Texel = TextureConfig::Texel;

/// The format that a filter rounds to.
struct Precision {
  int bits, exponent_min;
};
constexpr Precision kHalf{11, -14}, kFloat{24, -126};
/// Bits behind the last one of the greatest texel that smaller texels keep.
constexpr int kBitsBehind = 4;

float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value = exponent == 31  ? (fraction != 0 ? std::nanf("") : HUGE_VALF)
                : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

int exponent_of(double value, const Precision& to) {
  return std::max(std::ilogb(value), to.exponent_min);
}

/// Returns the sum of the texels of one plane by their weights.
double plane_sum(const TexelShares& shares, std::span<const uint32_t> stored, uint32_t plane,
                 const Precision& to) {
  double greatest = 0;
  for (uint32_t i = 0; i < shares.count; ++i) {
    if (shares.of[i].plane != plane) continue;
    greatest = std::max(greatest, std::abs(double{std::bit_cast<float>(stored[i])}));
  }
  if (greatest == 0) return 0;
  const double unit = std::ldexp(1, exponent_of(greatest, to) - to.bits + 1 - kBitsBehind);
  double sum = 0;
  for (uint32_t i = 0; i < shares.count; ++i) {
    if (shares.of[i].plane != plane) continue;
    sum += std::trunc(double{std::bit_cast<float>(stored[i])} / unit) * shares.of[i].share;
  }
  return sum * unit / kWholeShare;
}

/// Rounds half away from zero.
float rounded(double value, const Precision& to) {
  if (value == 0) return 0;
  const double unit = std::ldexp(1, exponent_of(value, to) - to.bits + 1);
  return static_cast<float>(std::copysign(std::floor(std::abs(value) / unit + 0.5) * unit, value));
}

float blended_floats(const TexelShares& shares, std::span<const uint32_t> stored,
                     const Precision& to) {
  double plain = 0, sum = 0;
  uint32_t planes = 0;
  for (uint32_t i = 0; i < shares.count; ++i) {
    plain += double{std::bit_cast<float>(stored[i])} * shares.of[i].share / kWholeShare;
    planes = std::max(planes, shares.of[i].plane + 1);
  }
  if (!std::isfinite(plain)) return static_cast<float>(plain);
  for (uint32_t plane = 0; plane < planes; ++plane) sum += plane_sum(shares, stored, plane, to);
  return rounded(sum, to);
}

int64_t rounded_quotient(int64_t dividend, int64_t divisor) {
  const int64_t twice = 2 * dividend + divisor;
  const int64_t quotient = twice / (2 * divisor);
  return quotient - (twice % (2 * divisor) < 0 ? 1 : 0);
}

float blended_integers(const TextureConfig& texture, const TexelShares& shares,
                       std::span<const uint32_t> stored) {
  const bool is_signed = texture.texel == Texel::Signed;
  const int64_t most = is_signed ? 32767 : 65535;
  const int64_t most_stored = (int64_t{1} << (texture.bits - (is_signed ? 1 : 0))) - 1;
  int64_t sum = 0;
  for (uint32_t i = 0; i < shares.count; ++i) {
    const auto value = is_signed ? int64_t{static_cast<int32_t>(stored[i])} : int64_t{stored[i]};
    sum += std::max(value, texture.bits == 8 ? value : -most) * shares.of[i].share;
  }
  const int64_t fraction = rounded_quotient(sum * most, most_stored * kWholeShare);
  return static_cast<float>(fraction) / static_cast<float>(most);
}

}  // namespace

uint32_t stored_channel(const TextureConfig& texture, const std::byte* texel, uint32_t channel) {
  const uint32_t bits = texture.bits;
  uint32_t raw = 0;
  std::memcpy(&raw, texel + channel * bits / 8, bits / 8);
  if (texture.texel == Texel::Float) {
    return bits == 16 ? std::bit_cast<uint32_t>(half_to_float(static_cast<uint16_t>(raw))) : raw;
  }
  if (texture.texel == Texel::Unsigned) return raw;
  return static_cast<uint32_t>(static_cast<int32_t>(raw << (32 - bits)) >> (32 - bits));
}

uint32_t channel_value(const TextureConfig& texture, uint32_t stored) {
  if (texture.texel == Texel::Float || !texture.normalized_values) return stored;
  const bool is_signed = texture.texel == Texel::Signed;
  const auto most = static_cast<float>((uint64_t{1} << (texture.bits - (is_signed ? 1 : 0))) - 1);
  const float ratio = is_signed
                          ? std::max(static_cast<float>(static_cast<int32_t>(stored)) / most, -1.0f)
                          : static_cast<float>(stored) / most;
  return std::bit_cast<uint32_t>(ratio);
}

uint32_t blended_channel(const TextureConfig& texture, const TexelShares& shares,
                         std::span<const uint32_t> stored) {
  const float value = texture.texel != Texel::Float
                          ? blended_integers(texture, shares, stored)
                          : blended_floats(shares, stored, texture.bits == 16 ? kHalf : kFloat);
  return std::bit_cast<uint32_t>(value);
}

}  // namespace gpuemu::emulator
