#include "runtime/device/texture.h"

namespace gpuemu {
namespace {
/// Largest sizes of textures over linear memory (CUDA programming guide, technical specifications).
constexpr uint32_t kRowWidthMax = 1 << 28, kLineWidthMax = 131072;
constexpr uint32_t kPlaneWidthMax = 131072, kPlaneHeightMax = 65000;
constexpr uint64_t kPitchMax = 2097120;

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
  if (config.filter == TextureConfig::Filter::Linear && !floats && !config.normalized_values) {
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
  if (!config.normalized_coordinates && (repeats(config.address_x) || repeats(config.address_y))) {
    return error(
        ErrorCode::InvalidArgument,
        "texture with wrap or mirror addressing and unnormalized coordinates; expected clamp or "
        "border, or normalized coordinates");
  }
  return {};
}

Status check_rows(const TextureConfig& config) {
  if (config.height == 1 && config.pitch_bytes == 0) {
    if (config.width <= kLineWidthMax) return check_modes(config);
    return error(ErrorCode::InvalidArgument,
                 "texture of one line of {} texels; expected at most {}", config.width,
                 kLineWidthMax);
  }
  if (config.height == 0) {
    const bool plain = config.filter == TextureConfig::Filter::Point &&
                       !config.normalized_coordinates && config.width <= kRowWidthMax;
    if (plain) return {};
    return error(ErrorCode::InvalidArgument,
                 "texture of one row of {} texels; it has no filter and no normalized coordinates, "
                 "and at most {} texels; expected a height for those",
                 config.width, kRowWidthMax);
  }
  if (config.width > kPlaneWidthMax || config.height > kPlaneHeightMax ||
      config.pitch_bytes > kPitchMax || config.pitch_bytes % kTexturePitchAlignment != 0 ||
      config.pitch_bytes < uint64_t{config.width} * config.texel_bytes()) {
    return error(ErrorCode::InvalidArgument,
                 "texture of {} x {} texels of {} bytes with {} bytes from row to row; expected at "
                 "most {} x {}, and a multiple of {} that a row fits into, up to {}",
                 config.width, config.height, config.texel_bytes(), config.pitch_bytes,
                 kPlaneWidthMax, kPlaneHeightMax, kTexturePitchAlignment, kPitchMax);
  }
  return check_modes(config);
}
}  // namespace

uint64_t TextureConfig::extent_bytes() const {
  const uint64_t row = uint64_t{width} * texel_bytes();
  return height == 0 ? row : (height - 1) * pitch_bytes + row;
}

Status check_texture(const TextureConfig& config) {
  GPUEMU_TRY(check_format(config));
  if (config.width == 0) {
    return error(ErrorCode::InvalidArgument, "texture without a width; expected at least 1 texel");
  }
  GPUEMU_TRY(check_rows(config));
  if (config.address % kTextureAlignment != 0) {
    return error(ErrorCode::InvalidArgument, "texture at {:#x}; expected a multiple of {}",
                 config.address, kTextureAlignment);
  }
  return {};
}

}  // namespace gpuemu
