// Textures and surfaces over device memory, which kernels access through an object.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

/// Alignment that the driver requires of the first texel and of the pitch.
inline constexpr uint64_t kTextureAlignment = 512;
inline constexpr uint64_t kTexturePitchAlignment = 32;
inline constexpr uint32_t kCubeFaces = 6;

/// Texels in device memory.
struct TexelGrid {
  uint64_t address = 0;      ///< Address of the first texel.
  uint32_t width = 0;        ///< Texels per row.
  uint32_t height = 1;       ///< Rows per slice.
  uint32_t depth = 1;        ///< Slices: of a volume, layers, faces of cubes.
  uint64_t pitch_bytes = 0;  ///< Bytes between rows; not used for lines.
  uint64_t slice_bytes = 0;  ///< Bytes between slices; not used for one slice.

  /// Returns the bytes from the first texel to the end of the last.
  uint64_t extent_bytes(uint32_t texel_bytes) const {
    return (depth - 1) * slice_bytes + (height - 1) * pitch_bytes + uint64_t{width} * texel_bytes;
  }
};

struct TextureConfig : TexelGrid {
  enum class Shape : uint8_t {
    Row,     ///< One row that kernels read by integer index (tex1Dfetch).
    Line,    ///< One row that tex1D can filter.
    Plane,   ///< Rows.
    Volume,  ///< Slices of rows, between which tex3D filters.
    Cube,    ///< Six faces, square planes, of which a direction selects one.
  };
  enum class Texel : uint8_t { Unsigned, Signed, Float };
  /// How coordinates beyond the edges are handled.
  enum class Address : uint8_t { Wrap, Clamp, Mirror, Border };
  enum class Filter : uint8_t { Point, Linear };

  Shape shape = Shape::Plane;
  /// Makes a surface object, which kernels read and write by byte; how it is read has no meaning.
  bool is_surface = false;
  bool is_layered = false;  ///< Its slices are layers of lines, planes or cubes.
  Texel texel = Texel::Float;
  uint32_t bits = 32;  ///< Bits per channel: 8, 16 or 32; for floats 16 or 32.
  uint32_t channels = 1;
  Address address_x = Address::Clamp, address_y = Address::Clamp, address_z = Address::Clamp;
  Filter filter = Filter::Point;
  bool normalized_coordinates = false;
  bool normalized_values = false;       ///< Integers are read as floats in [0, 1] or [-1, 1].
  std::vector<TexelGrid> smaller;       ///< The mipmap levels 1, 2, ...; none: one level.
  Filter level_filter = Filter::Point;  ///< Linear blends two levels.
  float level_bias = 0, level_min = 0, level_max = 0;

  uint32_t levels() const { return 1 + static_cast<uint32_t>(smaller.size()); }
  const TexelGrid& level(uint32_t number) const {
    return number == 0 ? *this : smaller[number - 1];
  }

  uint32_t texel_bytes() const { return bits / 8 * channels; }
  /// Returns 1 for a texture that is not layered.
  uint32_t layers() const {
    return !is_layered ? 1 : shape == Shape::Cube ? depth / kCubeFaces : depth;
  }
};

/// Returns for example "1d", "a2d" for layers of planes, or "cube", as instructions name it.
const char* geometry_of(TextureConfig::Shape shape, bool is_layered);

/// InvalidArgument for a texture that no driver accepts; the message says what is allowed.
Status check_texture(const TextureConfig& config);

}  // namespace gpuemu
