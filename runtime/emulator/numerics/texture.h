// Maps texture coordinates to texels and their weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device/texture.h"

namespace gpuemu::emulator {

/// A texel that a fetch reads, and its weight; the weights of a fetch add up to 1.
struct TexelShare {
  int64_t x, y, slice;
  double share;
  uint32_t level;
};
/// The texels of one fetch: one, or up to two in each dimension, of up to two levels. Texels
/// outside a border have a negative x and read as zero.
struct TexelShares {
  std::array<TexelShare, 16> of;  ///< The first `count` are set.
  uint32_t count = 0;
};

/// The kernel's coordinates, of which a texture uses as many as it has dimensions; for a cube a
/// direction.
struct TexturePoint {
  std::array<double, 3> at = {};
  uint32_t layer = 0;
  double level = 0;  ///< The level of detail.
  /// The coordinates are integers that name texels; neither filter, address mode nor normalisation
  /// apply.
  bool is_index = false;
};
TexelShares texels_at(const TextureConfig& texture, const TexturePoint& point);
/// Returns the level of detail at which the texels are as far apart as these steps of the
/// coordinates, the longer one of them.
double level_of(const TextureConfig& texture, const std::array<double, 3>& dx,
                const std::array<double, 3>& dy);
/// Returns the four texels that a linear filter blends, in the order in which tld4 returns them.
TexelShares texels_around(const TextureConfig& texture, const TexturePoint& point);

/// Returns a channel of a texel in register form: a float's bits, or the extended integer.
uint32_t channel_of(const TextureConfig& texture, const std::byte* texel, uint32_t channel);

}  // namespace gpuemu::emulator
