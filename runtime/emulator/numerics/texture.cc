#include "runtime/emulator/numerics/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace gpuemu::emulator {
namespace {
using Address = TextureConfig::Address;

constexpr int64_t kOutside = -1;
/// Filter weights have eight fraction bits (CUDA programming guide, linear filtering).
constexpr double kShares = 256;

/// Returns the texel used for index `at` of a line of `size` texels.
int64_t wrapped(Address mode, int64_t at, int64_t size) {
  if (at >= 0 && at < size) return at;
  switch (mode) {
    case Address::Clamp:
      return std::clamp<int64_t>(at, 0, size - 1);
    case Address::Border:
      return kOutside;
    case Address::Wrap:
      return (at % size + size) % size;
    case Address::Mirror: {
      const int64_t period = (at % (2 * size) + 2 * size) % (2 * size);
      return period < size ? period : 2 * size - 1 - period;
    }
  }
  return kOutside;
}

/// Converts a coordinate to texels. Beyond +-2^40 every mode but the border has wrapped many times.
double in_texels(const TextureConfig& texture, double at, uint32_t size) {
  if (std::isnan(at)) return 0;
  const double texels = texture.normalized_coordinates ? at * size : at;
  return std::clamp(texels, -0x1p40, 0x1p40);
}

struct Line {
  int64_t first = 0, second = 0;
  uint32_t share = 0;  ///< Weight of the second texel.
};

Line linear(Address mode, double at, int64_t size) {
  // Hardware coordinates have eight fraction bits, and so has the distance between texels.
  const double fixed = std::floor((at - 0.5) * kShares + 0.5);
  const double base = std::floor(fixed / kShares);
  const auto index = static_cast<int64_t>(base);
  return {wrapped(mode, index, size), wrapped(mode, index + 1, size),
          static_cast<uint32_t>(fixed - base * kShares)};
}

void add(TexelShares& to, int64_t x, int64_t y, uint32_t share) {
  const bool outside = x == kOutside || y == kOutside;
  to.of[to.count++] = {outside ? kOutside : x, outside ? kOutside : y, share};
}

float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value = exponent == 31  ? (fraction != 0 ? std::nanf("") : HUGE_VALF)
                : exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}
}  // namespace

TexelShares texels_at(const TextureConfig& texture, double x, double y) {
  TexelShares made;
  const auto width = int64_t{texture.width}, height = std::max<int64_t>(texture.height, 1);
  const double u = in_texels(texture, x, texture.width);
  const bool has_rows = texture.height != 0 && texture.pitch_bytes != 0;
  const double v = has_rows ? in_texels(texture, y, texture.height) : 0.5;
  if (texture.filter == TextureConfig::Filter::Point) {
    add(made, wrapped(texture.address_x, static_cast<int64_t>(std::floor(u)), width),
        wrapped(texture.address_y, static_cast<int64_t>(std::floor(v)), height), kWholeShare);
    return made;
  }
  const Line a = linear(texture.address_x, u, width), b = linear(texture.address_y, v, height);
  add(made, a.first, b.first, (256 - a.share) * (256 - b.share));
  add(made, a.second, b.first, a.share * (256 - b.share));
  add(made, a.first, b.second, (256 - a.share) * b.share);
  add(made, a.second, b.second, a.share * b.share);
  return made;
}

TexelShares texels_at(const TextureConfig& texture, int64_t x, int64_t y) {
  TexelShares made;
  // Integer coordinates name texels, so beyond the edge everything reads as zero, whatever the mode
  // (measured on an H200).
  const bool has_rows = texture.height != 0 && texture.pitch_bytes != 0;
  add(made, wrapped(Address::Border, x, texture.width),
      has_rows ? wrapped(Address::Border, y, texture.height) : 0, kWholeShare);
  return made;
}

uint32_t channel_of(const TextureConfig& texture, const std::byte* texel, uint32_t channel) {
  const uint32_t bits = texture.bits;
  uint32_t raw = 0;
  std::memcpy(&raw, texel + channel * bits / 8, bits / 8);
  if (texture.texel == TextureConfig::Texel::Float) {
    return bits == 16 ? std::bit_cast<uint32_t>(half_to_float(static_cast<uint16_t>(raw))) : raw;
  }
  const bool is_signed = texture.texel == TextureConfig::Texel::Signed;
  const int32_t value = static_cast<int32_t>(raw << (32 - bits)) >> (32 - bits);
  if (!texture.normalized_values) return is_signed ? static_cast<uint32_t>(value) : raw;
  const auto most = static_cast<float>((uint64_t{1} << (bits - (is_signed ? 1 : 0))) - 1);
  const float ratio = is_signed ? std::max(static_cast<float>(value) / most, -1.0f)
                                : static_cast<float>(raw) / most;
  return std::bit_cast<uint32_t>(ratio);
}

}  // namespace gpuemu::emulator
