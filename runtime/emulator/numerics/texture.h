// Maps texture coordinates to texels and their weights, and blends them, with the bits of an H200
// (measured: tests/fidelity/textures.sh).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/device/texture.h"

namespace gpuemu::emulator {

/// Weights are multiples of 1/256; the weights of a fetch add up to it.
inline constexpr uint32_t kWholeShare = 256;

/// A texel that a fetch reads, and its weight.
struct TexelShare {
  int64_t x, y, slice;
  uint32_t share;
  uint32_t level;
  uint32_t plane;  ///< Texels of one plane are blended first.
};
/// The texels of one fetch: one, or up to two in each dimension, of up to two levels. Texels
/// outside a border have a negative x and read as zero.
struct TexelShares {
  static constexpr uint32_t kMax = 16;
  std::array<TexelShare, kMax> of;  ///< The first `count` are set.
  uint32_t count = 0;
  bool are_blended = false;  ///< False: the one texel is returned as it is.
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
/// coordinates, the longer one of them. A GPU approximates this length: by up to a tenth of a level
/// for steps along one axis each, by up to half a level for others (H200).
double level_of(const TextureConfig& texture, const std::array<double, 3>& dx,
                const std::array<double, 3>& dy);
/// Returns the four texels that a linear filter blends, in the order in which tld4 returns them.
TexelShares texels_around(const TextureConfig& texture, const TexturePoint& point);

/// Returns a channel of a texel as it is stored: a float's bits (a half is widened), or the
/// extended integer.
uint32_t stored_channel(const TextureConfig& texture, const std::byte* texel, uint32_t channel);
/// Returns what a register gets for a stored channel.
uint32_t channel_value(const TextureConfig& texture, uint32_t stored);
/// Returns the bits of the float that a filter makes of one channel. `stored`: of each texel of
/// `shares`, in their order. With signed 8-bit channels the result can differ from that of an H200
/// by 1/32767.
uint32_t blended_channel(const TextureConfig& texture, const TexelShares& shares,
                         std::span<const uint32_t> stored);

}  // namespace gpuemu::emulator
