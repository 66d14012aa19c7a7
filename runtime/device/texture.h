// Textures over memory of a device: what a kernel reads through a texture object.
#pragma once

#include <cstdint>

#include "common/base/result.h"

namespace gpuemu {

/// The driver demands it of the first texel, and of the distance of rows.
inline constexpr uint64_t kTextureAlignment = 512;
inline constexpr uint64_t kTexturePitchAlignment = 32;

struct TextureConfig {
  enum class Texel : uint8_t { Unsigned, Signed, Float };
  enum class Address : uint8_t { Wrap, Clamp, Mirror, Border };  ///< Beyond the edges.
  enum class Filter : uint8_t { Point, Linear };

  uint64_t address = 0;      ///< Address of the first texel.
  uint32_t width = 0;        ///< Texels of a row.
  uint32_t height = 0;       ///< Rows; 0: one row that kernels read by integer index (tex1Dfetch).
  uint64_t pitch_bytes = 0;  ///< From row to row; 0 with one row: a line with filter, for tex1D.
  Texel texel = Texel::Float;
  uint32_t bits = 32;  ///< Bits of a channel: 8, 16, 32; for floats 16, 32.
  uint32_t channels = 1;
  Address address_x = Address::Clamp, address_y = Address::Clamp;
  Filter filter = Filter::Point;
  bool normalized_coordinates = false;
  bool normalized_values = false;  ///< Integers are read as floats of [0, 1] or [-1, 1].

  uint32_t texel_bytes() const { return bits / 8 * channels; }
  /// Bytes from the first texel to behind the last.
  uint64_t extent_bytes() const;
};

/// InvalidArgument for what no driver takes; the message says what is allowed.
Status check_texture(const TextureConfig& config);

}  // namespace gpuemu
