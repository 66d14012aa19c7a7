// Textures over device memory, which kernels read through a texture object.
#pragma once

#include <cstdint>

#include "common/base/result.h"

namespace gpuemu {

/// Alignment that the driver requires of the first texel and of the pitch.
inline constexpr uint64_t kTextureAlignment = 512;
inline constexpr uint64_t kTexturePitchAlignment = 32;

struct TextureConfig {
  enum class Texel : uint8_t { Unsigned, Signed, Float };
  /// How coordinates beyond the edges are handled.
  enum class Address : uint8_t { Wrap, Clamp, Mirror, Border };
  enum class Filter : uint8_t { Point, Linear };

  uint64_t address = 0;      ///< Address of the first texel.
  uint32_t width = 0;        ///< Texels per row.
  uint32_t height = 0;       ///< Rows; 0: one row that kernels read by integer index (tex1Dfetch).
  uint64_t pitch_bytes = 0;  ///< Bytes between rows; 0 if there is one row, which tex1D can filter.
  Texel texel = Texel::Float;
  uint32_t bits = 32;  ///< Bits per channel: 8, 16 or 32; for floats 16 or 32.
  uint32_t channels = 1;
  Address address_x = Address::Clamp, address_y = Address::Clamp;
  Filter filter = Filter::Point;
  bool normalized_coordinates = false;
  bool normalized_values = false;  ///< Integers are read as floats in [0, 1] or [-1, 1].

  uint32_t texel_bytes() const { return bits / 8 * channels; }
  /// Returns the bytes from the first texel to the end of the last.
  uint64_t extent_bytes() const;
};

/// InvalidArgument for a texture that no driver accepts; the message says what is allowed.
Status check_texture(const TextureConfig& config);

}  // namespace gpuemu
