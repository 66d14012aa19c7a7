#include "runtime/device/texture.h"

#include <algorithm>

namespace gpuemu {
namespace {
using Shape = TextureConfig::Shape;

/// Largest sizes (CUDA programming guide, technical specifications).
struct Limits {
  Shape shape;
  bool is_layered;
  uint32_t width, height, depth;
};
constexpr Limits kLimits[] = {
    {Shape::Row, false, 1 << 28, 1, 1},
    {Shape::Line, false, 131072, 1, 1},
    {Shape::Line, true, 32768, 1, 2048},
    {Shape::Plane, false, 131072, 65536, 1},
    {Shape::Plane, true, 32768, 32768, 2048},
    {Shape::Volume, false, 16384, 16384, 16384},
    {Shape::Cube, false, 32768, 32768, kCubeFaces},
    {Shape::Cube, true, 32768, 32768, 2046},
};
constexpr uint64_t kPitchMax = uint64_t{131072} * 16;

Status check_format(const TextureConfig& config) {
  const bool floats = config.texel == TextureConfig::Texel::Float;
  const bool bits = config.bits == 16 || config.bits == 32 || (config.bits == 8 && !floats);
  const bool channels = config.channels == 1 || config.channels == 2 || config.channels == 4;
  if (!bits || !channels) {
    return error(ErrorCode::InvalidArgument,
                 "texture of {} channels of {} bits; expected 1, 2 or 4 channels of 8, 16 or 32 "
                 "bits (floats 16 or 32)",
                 config.channels, config.bits);
  }
  if (config.normalized_values && (floats || config.bits == 32)) {
    return error(ErrorCode::InvalidArgument,
                 "texture with normalized values of {} bits; only integers of 8 and 16 bits are "
                 "normalized",
                 config.bits);
  }
  const bool filters = config.filter == TextureConfig::Filter::Linear ||
                       config.level_filter == TextureConfig::Filter::Linear;
  if (filters && !floats && !config.normalized_values) {
    return error(ErrorCode::InvalidArgument,
                 "texture of integers with linear filter; expected floats or normalized values");
  }
  return {};
}

Status check_modes(const TextureConfig& config) {
  using Address = TextureConfig::Address;
  const auto repeats = [](Address mode) {
    return mode == Address::Wrap || mode == Address::Mirror;
  };
  const bool any =
      repeats(config.address_x) || repeats(config.address_y) || repeats(config.address_z);
  if (!config.normalized_coordinates && any) {
    return error(
        ErrorCode::InvalidArgument,
        "texture with wrap or mirror addressing and unnormalized coordinates; expected clamp or "
        "border, or normalized coordinates");
  }
  if (config.shape == Shape::Row &&
      (config.filter != TextureConfig::Filter::Point || config.normalized_coordinates)) {
    return error(ErrorCode::InvalidArgument,
                 "texture of one row that is read by index; expected no filter and no normalized "
                 "coordinates, or the shape of a line");
  }
  return {};
}

Status check_size(const TextureConfig& config) {
  const Limits* most = nullptr;
  for (const Limits& row : kLimits) {
    if (row.shape == config.shape && row.is_layered == config.is_layered) most = &row;
  }
  const char* const geometry = geometry_of(config.shape, config.is_layered);
  if (most == nullptr) {
    return error(ErrorCode::InvalidArgument,
                 "layered texture of the geometry .{}; expected layers "
                 "of lines, planes or cubes",
                 geometry);
  }
  if (config.width == 0 || config.height == 0 || config.depth == 0 || config.width > most->width ||
      config.height > most->height || config.depth > most->depth) {
    return error(ErrorCode::InvalidArgument,
                 "texture of {} x {} x {} texels; expected 1 to {} x {} x {} for .{}", config.width,
                 config.height, config.depth, most->width, most->height, most->depth, geometry);
  }
  if (config.shape == Shape::Cube &&
      (config.width != config.height || config.depth % kCubeFaces != 0)) {
    return error(ErrorCode::InvalidArgument,
                 "cube texture of {} x {} texels and {} faces; expected squares, and six faces for "
                 "each cube",
                 config.width, config.height, config.depth);
  }
  return {};
}

Status check_layout(const TextureConfig& config, const TexelGrid& grid) {
  const uint64_t row = uint64_t{grid.width} * config.texel_bytes();
  const bool has_rows = config.shape != Shape::Row && config.shape != Shape::Line;
  if (has_rows && (grid.pitch_bytes > kPitchMax || grid.pitch_bytes < row ||
                   grid.pitch_bytes % kTexturePitchAlignment != 0)) {
    return error(ErrorCode::InvalidArgument,
                 "texture with rows of {} bytes and {} bytes from row to row; expected a multiple "
                 "of {} that a row fits into, up to {}",
                 row, grid.pitch_bytes, kTexturePitchAlignment, kPitchMax);
  }
  const uint64_t slice = has_rows ? grid.height * grid.pitch_bytes : row;
  if (grid.depth > 1 &&
      (grid.slice_bytes < slice || grid.slice_bytes % kTexturePitchAlignment != 0)) {
    return error(ErrorCode::InvalidArgument,
                 "texture with slices of {} bytes and {} bytes from slice to slice; expected a "
                 "multiple of {} that a slice fits into",
                 slice, grid.slice_bytes, kTexturePitchAlignment);
  }
  if (grid.address % kTextureAlignment != 0) {
    return error(ErrorCode::InvalidArgument, "texture at {:#x}; expected a multiple of {}",
                 grid.address, kTextureAlignment);
  }
  return {};
}

Status check_levels(const TextureConfig& config) {
  GPUEMU_TRY(check_layout(config, config));
  const bool halves_depth = config.shape == Shape::Volume;
  const auto half = [](uint32_t size) { return std::max(size / 2, 1u); };
  for (uint32_t i = 1; i < config.levels(); ++i) {
    const TexelGrid &above = config.level(i - 1), &here = config.level(i);
    if (here.width != half(above.width) || here.height != half(above.height) ||
        here.depth != (halves_depth ? half(above.depth) : above.depth)) {
      return error(ErrorCode::InvalidArgument,
                   "mipmap level {} of {} x {} x {} texels; expected half of the level above, {} x "
                   "{} x {}",
                   i, here.width, here.height, here.depth, above.width, above.height, above.depth);
    }
    GPUEMU_TRY(check_layout(config, here));
  }
  if (config.levels() > 1 && !config.normalized_coordinates && !config.is_surface) {
    return error(ErrorCode::InvalidArgument,
                 "texture of {} mipmap levels with unnormalized coordinates; expected normalized "
                 "coordinates",
                 config.levels());
  }
  return {};
}
}  // namespace

const char* geometry_of(TextureConfig::Shape shape, bool is_layered) {
  switch (shape) {
    case Shape::Row:
    case Shape::Line:
      return is_layered ? "a1d" : "1d";
    case Shape::Plane:
      return is_layered ? "a2d" : "2d";
    case Shape::Volume:
      return "3d";
    case Shape::Cube:
      return is_layered ? "acube" : "cube";
  }
  return "";
}

Status check_texture(const TextureConfig& config) {
  if (config.is_surface && config.shape == Shape::Row) {
    return error(ErrorCode::InvalidArgument,
                 "surface of a row that is read by index; expected the shape of a line");
  }
  GPUEMU_TRY(check_format(config));
  GPUEMU_TRY(check_size(config));
  GPUEMU_TRY(check_modes(config));
  return check_levels(config);
}

}  // namespace gpuemu
