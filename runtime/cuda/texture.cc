// Texture objects: the driver's descriptors, laid out as in its ABI.
#include <array>
#include <cstring>

#include "common/base/check.h"
#include "runtime/cuda/device_impl.h"

namespace gpuemu::cuda {
namespace {

/// CUDA_RESOURCE_DESC, whose union has room for 128 bytes.
struct ResourceDesc {
  int type = 0;
  alignas(8) std::array<std::byte, 128> of = {};
  unsigned flags = 0;
};
static_assert(sizeof(ResourceDesc) == 144);
constexpr int kResourceLinear = 2, kResourcePlane = 3;

struct LinearDesc {
  uint64_t address;
  int format;
  unsigned channels;
  size_t bytes;
};
struct PlaneDesc {
  uint64_t address;
  int format;
  unsigned channels;
  size_t width, height, pitch_bytes;
};

/// CUDA_TEXTURE_DESC
struct TextureDesc {
  std::array<int, 3> address_modes = {};
  int filter = 0;
  unsigned flags = 0, max_anisotropy = 0;
  int mipmap_filter = 0;
  float mipmap_bias = 0, mipmap_min = 0, mipmap_max = 0;
  std::array<float, 4> border = {};
  std::array<int, 12> reserved = {};
};
static_assert(sizeof(TextureDesc) == 104);
constexpr unsigned kReadAsInteger = 1, kNormalizedCoordinates = 2;

/// CUarray_format
int format_of(const TextureConfig& config) {
  const int size = config.bits == 8 ? 0 : config.bits == 16 ? 1 : 2;
  switch (config.texel) {
    case TextureConfig::Texel::Unsigned:
      return 0x01 + size;
    case TextureConfig::Texel::Signed:
      return 0x08 + size;
    case TextureConfig::Texel::Float:
      return config.bits == 16 ? 0x10 : 0x20;
  }
  GPUEMU_UNREACHABLE();
}

/// CUaddress_mode
int mode_of(TextureConfig::Address mode) {
  switch (mode) {
    case TextureConfig::Address::Wrap:
      return 0;
    case TextureConfig::Address::Clamp:
      return 1;
    case TextureConfig::Address::Mirror:
      return 2;
    case TextureConfig::Address::Border:
      return 3;
  }
  GPUEMU_UNREACHABLE();
}

ResourceDesc resource_of(const TextureConfig& config) {
  ResourceDesc made;
  if (config.shape == TextureConfig::Shape::Row) {
    made.type = kResourceLinear;
    const LinearDesc row{config.address, format_of(config), config.channels,
                         config.extent_bytes(config.texel_bytes())};
    std::memcpy(made.of.data(), &row, sizeof row);
  } else {
    made.type = kResourcePlane;
    const PlaneDesc plane{config.address, format_of(config), config.channels,
                          config.width,   config.height,     config.pitch_bytes};
    std::memcpy(made.of.data(), &plane, sizeof plane);
  }
  return made;
}

TextureDesc texture_of(const TextureConfig& config) {
  TextureDesc made;
  made.address_modes = {mode_of(config.address_x), mode_of(config.address_y),
                        mode_of(config.address_z)};
  made.filter = config.filter == TextureConfig::Filter::Linear ? 1 : 0;
  const bool integers = config.texel != TextureConfig::Texel::Float && !config.normalized_values;
  made.flags = (integers ? kReadAsInteger : 0) |
               (config.normalized_coordinates ? kNormalizedCoordinates : 0);
  return made;
}
}  // namespace

Result<uint64_t> CudaDevice::make_texture(const TextureConfig& config) {
  GPUEMU_TRY(ready());
  GPUEMU_TRY(check_texture(config));
  using Shape = TextureConfig::Shape;
  if (config.is_surface || config.is_layered || config.levels() > 1 ||
      (config.shape != Shape::Row && config.shape != Shape::Plane)) {
    return error(ErrorCode::Unsupported,
                 "{} of the geometry .{}: the driver makes it of arrays alone; expected a texture "
                 "of one row that is read by index, or of a plane",
                 config.is_surface ? "surface" : "texture",
                 geometry_of(config.shape, config.is_layered));
  }
  GPUEMU_TRY(check_range(config.address, config.extent_bytes(config.texel_bytes())));
  const ResourceDesc resource = resource_of(config);
  const TextureDesc texture = texture_of(config);
  uint64_t object = 0;
  GPUEMU_TRY(
      check(driver_.cuTexObjectCreate(&object, &resource, &texture, nullptr), "making a texture"));
  const std::lock_guard lock(mutex_);
  textures_.insert(object);
  return object;
}

Status CudaDevice::free_texture(uint64_t texture) {
  GPUEMU_TRY(ready());
  {
    const std::lock_guard lock(mutex_);
    if (textures_.erase(texture) == 0) {
      return error(ErrorCode::InvalidArgument, "free of {:#x}, which is not a live texture",
                   texture);
    }
  }
  return check(driver_.cuTexObjectDestroy(texture), "freeing a texture");
}

}  // namespace gpuemu::cuda
