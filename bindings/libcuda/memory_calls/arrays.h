// What calls of arrays and of texture and surface objects share.
#pragma once

#include <cstdint>
#include <optional>

#include "bindings/libcuda/interface/array_abi.h"
#include "runtime/device/texture.h"

namespace gpuemu::libcuda {

struct Texel {
  TextureConfig::Texel kind;
  uint32_t bits;
};
/// Returns nothing for a format that is not supported.
std::optional<Texel> texel_of(ArrayFormat format);

/// The supported flags of arrays.
inline constexpr unsigned kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8;

}  // namespace gpuemu::libcuda
