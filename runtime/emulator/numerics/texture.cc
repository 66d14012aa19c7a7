#include "runtime/emulator/numerics/texture.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace gpuemu::emulator {
namespace {
using Address = TextureConfig::Address;
using Shape = TextureConfig::Shape;

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

/// Beyond +-2^40 texels every mode but the border has wrapped many times.
double limited(double texels) {
  return std::isnan(texels) ? 0 : std::clamp(texels, -0x1p40, 0x1p40);
}

/// The texels of a fetch in one dimension.
struct Line {
  int64_t first = 0, second = 0;
  double share = 0;  ///< Weight of the second texel.
};

Line nearest(Address mode, double at, int64_t size) {
  const int64_t index = wrapped(mode, static_cast<int64_t>(std::floor(at)), size);
  return {index, index, 0};
}

Line linear(Address mode, double at, int64_t size) {
  // Hardware coordinates have eight fraction bits, and so has the distance between texels.
  const double fixed = std::floor((at - 0.5) * kShares + 0.5);
  const double base = std::floor(fixed / kShares);
  const auto index = static_cast<int64_t>(base);
  return {wrapped(mode, index, size), wrapped(mode, index + 1, size),
          (fixed - base * kShares) / kShares};
}

/// A face of a cube, and the coordinates on it from 0 to 1.
struct OnFace {
  uint32_t face = 0;
  double s = 0, t = 0;
};

/// Selects the face that a direction points to (CUDA programming guide, cubemap textures). Of axes
/// of the same length z goes before y and y before x.
OnFace face_of(const std::array<double, 3>& to) {
  const auto [x, y, z] = to;
  const double ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
  OnFace made;
  double s = 0, t = 0, most = 0;
  if (az >= ax && az >= ay) {
    made.face = std::signbit(z) ? 5 : 4;
    most = az, s = std::signbit(z) ? -x : x, t = -y;
  } else if (ay >= ax) {
    made.face = std::signbit(y) ? 3 : 2;
    most = ay, s = x, t = std::signbit(y) ? -z : z;
  } else {
    made.face = std::signbit(x) ? 1 : 0;
    most = ax, s = std::signbit(x) ? z : -z, t = -y;
  }
  made.s = most == 0 ? 0.5 : (s / most + 1) / 2;
  made.t = most == 0 ? 0.5 : (t / most + 1) / 2;
  return made;
}

/// Where a fetch is in the grid: texels in up to three dimensions, and the first of its slices.
struct InTexels {
  std::array<double, 3> at = {0.5, 0.5, 0.5};
  std::array<Address, 3> modes = {Address::Clamp, Address::Clamp, Address::Clamp};
  std::array<uint32_t, 3> sizes = {1, 1, 1};
  uint32_t dims = 0;
  int64_t slice = 0;
};

uint32_t dims_of(Shape shape) {
  switch (shape) {
    case Shape::Row:
    case Shape::Line:
      return 1;
    case Shape::Plane:
    case Shape::Cube:
      return 2;
    case Shape::Volume:
      return 3;
  }
  return 0;
}

InTexels in_texels(const TextureConfig& texture, const TexelGrid& grid, const TexturePoint& point) {
  InTexels made;
  made.dims = dims_of(texture.shape);
  made.sizes = {grid.width, grid.height, grid.depth};
  made.modes = {texture.address_x, texture.address_y, texture.address_z};
  if (texture.is_layered) made.slice = std::min(point.layer, texture.layers() - 1);
  if (texture.shape == Shape::Cube) {
    const OnFace on = face_of(point.at);
    made.slice = made.slice * kCubeFaces + on.face;
    made.at = {on.s * grid.width, on.t * grid.height, 0.5};
    made.modes = {Address::Clamp, Address::Clamp, Address::Clamp};
    return made;
  }
  for (uint32_t i = 0; i < made.dims; ++i) {
    const bool normalized = texture.normalized_coordinates && !point.is_index;
    made.at[i] = limited(normalized ? point.at[i] * made.sizes[i] : point.at[i]);
    // Integer coordinates name texels, so beyond the edge everything reads as zero, whatever the
    // mode (measured on an H200).
    if (point.is_index) made.modes[i] = Address::Border;
  }
  return made;
}

using Lines = std::array<Line, 3>;

void add(TexelShares& to, const std::array<int64_t, 3>& at, double share) {
  if (share == 0) return;
  const bool outside = at[0] == kOutside || at[1] == kOutside || at[2] == kOutside;
  to.of[to.count++] = {outside ? kOutside : at[0], at[1], at[2], share, 0};
}

/// Adds the texels of all pairs of `lines`, x first, with a part of their weight.
void add_all(TexelShares& to, const Lines& lines, int64_t slice, double part) {
  for (uint32_t corner = 0; corner < 8; ++corner) {
    std::array<int64_t, 3> at{};
    double share = part;
    for (uint32_t i = 0; i < 3; ++i) {
      const bool second = (corner >> i & 1) != 0;
      at[i] = second ? lines[i].second : lines[i].first;
      share *= second ? lines[i].share : 1 - lines[i].share;
    }
    if (at[2] != kOutside) at[2] += slice;
    add(to, at, share);
  }
}

/// The levels that a fetch reads.
struct Levels {
  uint32_t first = 0, second = 0;
  double share = 0;  ///< Weight of the second level.
};

Levels levels_at(const TextureConfig& texture, double level) {
  if (texture.smaller.empty()) return {};
  const double most = std::min<double>(texture.level_max, texture.levels() - 1);
  const double asked = std::isnan(level) ? 0 : level + texture.level_bias;
  const double at = std::max(
      std::clamp<double>(asked, texture.level_min, std::max<double>(texture.level_min, most)), 0.0);
  const auto last = static_cast<uint32_t>(texture.smaller.size());
  const auto limited = [&](double number) { return std::min(static_cast<uint32_t>(number), last); };
  if (texture.level_filter == TextureConfig::Filter::Point) {
    return {limited(std::floor(at + 0.5)), 0, 0};
  }
  // The level of detail has eight fraction bits, as coordinates do.
  const double fixed = std::floor(at * kShares + 0.5) / kShares;
  const double base = std::floor(fixed);
  return {limited(base), limited(base + 1), fixed - base};
}

void add_level(TexelShares& to, const TextureConfig& texture, const TexturePoint& point,
               uint32_t level, double part) {
  if (part == 0) return;
  const InTexels in = in_texels(texture, texture.level(level), point);
  const bool filters = texture.filter == TextureConfig::Filter::Linear && !point.is_index;
  Lines lines{};
  for (uint32_t i = 0; i < in.dims; ++i) {
    lines[i] = filters ? linear(in.modes[i], in.at[i], in.sizes[i])
                       : nearest(in.modes[i], in.at[i], in.sizes[i]);
  }
  const uint32_t before = to.count;
  add_all(to, lines, in.slice, part);
  for (uint32_t i = before; i < to.count; ++i) to.of[i].level = level;
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

TexelShares texels_at(const TextureConfig& texture, const TexturePoint& point) {
  const Levels levels = levels_at(texture, point.level);
  TexelShares made;
  add_level(made, texture, point, levels.first, 1 - levels.share);
  add_level(made, texture, point, levels.second, levels.share);
  return made;
}

double level_of(const TextureConfig& texture, const std::array<double, 3>& dx,
                const std::array<double, 3>& dy) {
  const std::array<uint32_t, 3> sizes = {texture.width, texture.height, texture.depth};
  double longest = 0;
  for (const std::array<double, 3>& step : {dx, dy}) {
    double squares = 0;
    for (uint32_t i = 0; i < dims_of(texture.shape); ++i) {
      const double texels = step[i] * sizes[i];
      squares += texels * texels;
    }
    longest = std::max(longest, std::sqrt(squares));
  }
  return std::log2(longest);
}

TexelShares texels_around(const TextureConfig& texture, const TexturePoint& point) {
  const InTexels in = in_texels(texture, texture, point);
  const Line x = linear(in.modes[0], in.at[0], in.sizes[0]);
  const Line y = linear(in.modes[1], in.at[1], in.sizes[1]);
  TexelShares made;
  add(made, {x.first, y.second, in.slice}, 1);
  add(made, {x.second, y.second, in.slice}, 1);
  add(made, {x.second, y.first, in.slice}, 1);
  add(made, {x.first, y.first, in.slice}, 1);
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
