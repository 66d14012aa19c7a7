// Maps texture coordinates to texels and their weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/device/texture.h"

namespace gpuemu::emulator {

inline constexpr uint32_t kWholeShare = 256 * 256;
/// A texel that a fetch reads, and its weight.
struct TexelShare {
  int64_t x = 0, y = 0;
  uint32_t share = 0;
};
/// The texels of one fetch: one, two in a row, or four. Texels outside a border have a negative x
/// and read as zero.
struct TexelShares {
  std::array<TexelShare, 4> of;
  uint32_t count = 0;
};
/// Takes the kernel's coordinates; y is ignored for one-dimensional textures.
TexelShares texels_at(const TextureConfig& texture, double x, double y);
/// Takes integer coordinates, to which neither filter, address mode nor normalisation apply.
TexelShares texels_at(const TextureConfig& texture, int64_t x, int64_t y);

/// Returns a channel of a texel in register form: a float's bits, or the extended integer.
uint32_t channel_of(const TextureConfig& texture, const std::byte* texel, uint32_t channel);

}  // namespace gpuemu::emulator
