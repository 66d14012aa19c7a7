// Where a texture is read: coordinates to texels and weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device/texture.h"

namespace gpuemu::emulator {

inline constexpr uint32_t kWholeShare = 256 * 256;
/// One texel that a fetch reads, and its share of the result.
struct TexelShare {
  int64_t x = 0, y = 0;
  uint32_t share = 0;
};
/// The texels of one fetch: one, two in a row, or four. Texels beyond the edge of a border read as
/// zero and have a negative x.
struct TexelShares {
  std::array<TexelShare, 4> of;
  uint32_t count = 0;
};
/// `x` and `y` as the kernel gives them; y counts only where there are rows.
TexelShares texels_at(const TextureConfig& texture, double x, double y);
/// Texels at integer coordinates, which no filter, no mode and no normalization concerns.
TexelShares texels_at(const TextureConfig& texture, int64_t x, int64_t y);

/// Channel `channel` of a texel as a register holds it: the float's bits, or the integer extended.
uint32_t channel_of(const TextureConfig& texture, const std::byte* texel, uint32_t channel);

}  // namespace gpuemu::emulator
