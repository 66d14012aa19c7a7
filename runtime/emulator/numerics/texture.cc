#include "runtime/emulator/numerics/texture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace gpuemu::emulator {
namespace {
using Address = TextureConfig::Address;
using Shape = TextureConfig::Shape;

constexpr int64_t kOutside = -1;
/// Normalized coordinates have 21 fraction bits (H200).
constexpr double kFractions = 1 << 21;

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

/// The texels of a fetch in one dimension.
struct Line {
  int64_t first = 0, second = 0;
  uint32_t share = 0;  ///< Weight of the second texel.
};

Line nearest(Address mode, double at, int64_t size) {
  const int64_t index = wrapped(mode, static_cast<int64_t>(std::floor(at)), size);
  return {index, index, 0};
}

Line linear(Address mode, double at, int64_t size) {
  // Texel coordinates have eight fraction bits, and so has the distance between texels.
  const auto fixed = static_cast<int64_t>(std::floor((at - 0.5) * kWholeShare + 0.5));
  const int64_t index = fixed >> 8;
  Line made{wrapped(mode, index, size), wrapped(mode, index + 1, size),
            static_cast<uint32_t>(fixed & 255)};
  // A coordinate beyond the edge is clamped before its fraction is taken.
  if (mode == Address::Clamp && made.first == made.second) made.share = 0;
  return made;
}

/// A face of a cube, and the coordinates on it from 0 to 1.
struct OnFace {
  uint32_t face = 0;
  double s = 0, t = 0;
};

/// Selects the face that a direction points to (CUDA programming guide, cubemap textures). Of axes
/// of the same length z goes before y and y before x. The quotient is a product with the rounded
/// reciprocal, as on an H200.
OnFace face_of(const std::array<double, 3>& to) {
  const auto [x, y, z] = to;
  const double ax = std::abs(x), ay = std::abs(y), az = std::abs(z);
  OnFace made;
  double s = 0, t = 0, most = 0;
  if (az >= ax && az >= ay) {
    made.face = z < 0 ? 5 : 4;
    most = az, s = z < 0 ? -x : x, t = -y;
  } else if (ay >= ax) {
    made.face = y < 0 ? 3 : 2;
    most = ay, s = x, t = y < 0 ? -z : z;
  } else {
    made.face = x < 0 ? 1 : 0;
    most = ax, s = x < 0 ? z : -z, t = -y;
  }
  const auto on_face = [&](double side) {
    if (most == 0 || !std::isfinite(most)) return 0.5;
    const float quotient = static_cast<float>(side) * (1 / static_cast<float>(most));
    return (double{quotient} + 1) / 2;
  };
  made.s = on_face(s);
  made.t = on_face(t);
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

/// A line is filtered as a plane with one row at y = 0, so half of what a border gives it is zero.
uint32_t dims_of(Shape shape) {
  switch (shape) {
    case Shape::Row:
      return 1;
    case Shape::Line:
    case Shape::Plane:
    case Shape::Cube:
      return 2;
    case Shape::Volume:
      return 3;
  }
  return 0;
}

/// Returns the normalized coordinate in the first repetition; 0 for one without a fraction.
double repeated(Address mode, double at) {
  const double period = mode == Address::Wrap ? 1 : mode == Address::Mirror ? 2 : 0;
  if (period == 0) return at;
  return std::isfinite(at) ? at - period * std::floor(at / period) : 0;
}

/// Returns the coordinate in texels.
double in_texels(double at, Address mode, uint32_t size, bool normalized) {
  if (std::isnan(at) || std::abs(at) < std::numeric_limits<float>::min()) return 0;
  if (normalized) at = std::floor(repeated(mode, at) * kFractions) / kFractions * size;
  return std::clamp(at, -0x1p40, 0x1p40);
}

InTexels in_texels(const TextureConfig& texture, const TexelGrid& grid, const TexturePoint& point) {
  InTexels made;
  made.dims = dims_of(texture.shape);
  made.sizes = {grid.width, grid.height, grid.depth};
  made.modes = {texture.address_x, texture.address_y, texture.address_z};
  if (texture.is_layered) made.slice = std::min(point.layer, texture.layers() - 1);
  if (texture.shape == Shape::Cube) {
    std::array<double, 3> to{};
    for (uint32_t i = 0; i < 3; ++i) {
      to[i] = std::abs(point.at[i]) < std::numeric_limits<float>::min() ? 0 : point.at[i];
    }
    const OnFace on = face_of(to);
    made.slice = made.slice * kCubeFaces + on.face;
    made.at = {in_texels(on.s, Address::Clamp, grid.width, true),
               in_texels(on.t, Address::Clamp, grid.height, true), 0.5};
    made.modes = {Address::Clamp, Address::Clamp, Address::Clamp};
    return made;
  }
  for (uint32_t i = 0; i < made.dims; ++i) {
    made.at[i] = point.is_index ? point.at[i]
                                : in_texels(point.at[i], made.modes[i], made.sizes[i],
                                            texture.normalized_coordinates);
    // Integer coordinates name texels, so beyond the edge everything reads as zero, whatever the
    // mode (measured on an H200).
    if (point.is_index) made.modes[i] = Address::Border;
  }
  // A line of a layered texture has no edge in y.
  if (texture.shape == Shape::Line) made.at[1] = texture.is_layered ? 0.5 : 0;
  return made;
}

using Lines = std::array<Line, 3>;

void add(TexelShares& to, const std::array<int64_t, 3>& at, uint32_t share) {
  if (share == 0) return;
  const bool outside = at[0] == kOutside || at[1] == kOutside || at[2] == kOutside;
  to.of[to.count++] = {outside ? kOutside : at[0], at[1], at[2], share, 0, 0};
}

/// Returns the part of a weight, rounded to the nearest multiple of 1/256.
uint32_t part_of(uint32_t share, uint32_t part) { return (share * part + 128) / kWholeShare; }

/// Adds the texels of one plane, which have the weight `whole` together. It is divided between
/// columns, then between rows; which of two halves is rounded up was measured on an H200.
void add_plane(TexelShares& to, const Lines& lines, int64_t slice, uint32_t whole) {
  const Line &x = lines[0], &y = lines[1];
  const uint32_t right = part_of(whole, x.share), left = whole - right;
  const uint32_t left_first = part_of(left, kWholeShare - y.share);
  const uint32_t right_second = part_of(right, y.share);
  add(to, {x.first, y.first, slice}, left_first);
  add(to, {x.second, y.first, slice}, right - right_second);
  add(to, {x.first, y.second, slice}, left - left_first);
  add(to, {x.second, y.second, slice}, right_second);
}

/// The levels that a fetch reads.
struct Levels {
  uint32_t first = 0, second = 0;
  uint32_t share = 0;  ///< Weight of the second level.
};

/// Returns 256ths of a level of detail, without what is below them.
int64_t fixed_level(double level) {
  if (std::isnan(level)) return 0;
  return static_cast<int64_t>(std::clamp(level * kWholeShare, -0x1p20, 0x1p20));
}

Levels levels_at(const TextureConfig& texture, double level) {
  if (texture.smaller.empty()) return {};
  const auto last = static_cast<uint32_t>(texture.smaller.size());
  const int64_t least = fixed_level(texture.level_min);
  const int64_t most = std::max(least, fixed_level(std::min<double>(texture.level_max, last)));
  const int64_t asked = fixed_level(level) + fixed_level(texture.level_bias);
  const auto at = static_cast<uint32_t>(std::max<int64_t>(std::clamp(asked, least, most), 0));
  if (texture.level_filter == TextureConfig::Filter::Point) {
    return {std::min((at + kWholeShare / 2) / kWholeShare, last), 0, 0};
  }
  const uint32_t base = at / kWholeShare;
  return {std::min(base, last), std::min(base + 1, last), at % kWholeShare};
}

void add_level(TexelShares& to, const TextureConfig& texture, const TexturePoint& point,
               uint32_t level, uint32_t whole) {
  if (whole == 0) return;
  const InTexels in = in_texels(texture, texture.level(level), point);
  const bool filters = texture.filter == TextureConfig::Filter::Linear && !point.is_index;
  Lines lines{};
  for (uint32_t i = 0; i < in.dims; ++i) {
    lines[i] = filters ? linear(in.modes[i], in.at[i], in.sizes[i])
                       : nearest(in.modes[i], in.at[i], in.sizes[i]);
  }
  const uint32_t behind = part_of(whole, lines[2].share);
  const std::array<std::pair<int64_t, uint32_t>, 2> planes = {
      std::pair(lines[2].first, whole - behind), std::pair(lines[2].second, behind)};
  for (const auto& [slice, part] : planes) {
    const uint32_t before = to.count;
    const uint32_t plane = before == 0 ? 0 : to.of[before - 1].plane + 1;
    add_plane(to, lines, slice == kOutside ? kOutside : slice + in.slice, part);
    for (uint32_t i = before; i < to.count; ++i) {
      to.of[i].level = level;
      to.of[i].plane = plane;
    }
  }
}
}  // namespace

TexelShares texels_at(const TextureConfig& texture, const TexturePoint& point) {
  using Filter = TextureConfig::Filter;
  const Levels levels = levels_at(texture, point.level);
  TexelShares made;
  add_level(made, texture, point, levels.first, kWholeShare - levels.share);
  add_level(made, texture, point, levels.second, levels.share);
  made.are_blended = levels.share != 0 || (texture.filter == Filter::Linear && !point.is_index);
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
  // As many bits as a level has.
  return std::floor(std::log2(longest) * kWholeShare + 0.5) / kWholeShare;
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

}  // namespace gpuemu::emulator
