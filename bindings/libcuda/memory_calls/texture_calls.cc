// Implements texture and surface objects.
#include <algorithm>

#include <fmt/format.h>

#include "bindings/libcuda/memory_calls/arrays.h"
#include "bindings/libcuda/process.h"

namespace gpuemu::libcuda {
namespace {

/// Limits of textures of pitched memory, lower than those of arrays (CUDA programming guide,
/// technical specifications).
constexpr size_t kPitchedHeightMax = 65000, kPitchMax = 2097120;

/// Sets what the array determines of a texture.
void set_grid(const ArrayState& array, TextureConfig& config) {
  using Shape = TextureConfig::Shape;
  const ArrayDescription& what = array.what;
  config.is_layered = (what.flags & kLayered) != 0;
  config.shape = (what.flags & kCubemap) != 0           ? Shape::Cube
                 : what.height == 0                     ? Shape::Line
                 : what.depth == 0 || config.is_layered ? Shape::Plane
                                                        : Shape::Volume;
  config.address = array.address;
  config.width = static_cast<uint32_t>(what.width);
  config.height = static_cast<uint32_t>(array.rows());
  config.depth = static_cast<uint32_t>(array.planes());
  config.pitch_bytes = array.pitch_bytes;
  config.slice_bytes = array.slice_bytes();
  config.channels = what.channels;
}

/// Sets the location of the texels. Reports what is not supported.
int set_texels(Process& driver, const ResourceDescription& resource, TextureConfig& config) {
  using Shape = TextureConfig::Shape;
  ArrayFormat format{};
  switch (resource.type) {
    case ResourceType::Array: {
      const auto array = driver.arrays.find(resource.array);
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      set_grid(*array, config);
      format = array->what.format;
      break;
    }
    case ResourceType::Linear:
      config.shape = Shape::Row;
      config.address = resource.linear.address;
      config.channels = resource.linear.channels;
      format = resource.linear.format;
      break;
    case ResourceType::Plane:
      if (resource.plane.width > UINT32_MAX || resource.plane.height > kPitchedHeightMax ||
          resource.plane.pitch_bytes > kPitchMax) {
        return CUDA_ERROR_INVALID_VALUE;
      }
      config.address = resource.plane.address;
      config.width = static_cast<uint32_t>(resource.plane.width);
      config.height = static_cast<uint32_t>(resource.plane.height);
      config.pitch_bytes = resource.plane.pitch_bytes;
      config.channels = resource.plane.channels;
      format = resource.plane.format;
      break;
    case ResourceType::MipmappedArray: {
      const auto mipmap = driver.mipmaps.find(resource.mipmap);
      if (mipmap == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      for (const ArrayHandle level : mipmap->levels) {
        const auto array = driver.arrays.find(level);
        TextureConfig made;
        set_grid(*array, made);
        format = array->what.format;
        if (level == mipmap->levels[0]) {
          config = made;
        } else {
          config.smaller.push_back(static_cast<const TexelGrid&>(made));
        }
      }
      break;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  const auto texel = texel_of(format);
  if (!texel) return unsupported_call("cuTexObjectCreate of this format");
  config.texel = texel->kind;
  config.bits = texel->bits;
  if (resource.type == ResourceType::Linear) {
    const uint64_t bytes = std::max(1u, config.texel_bytes());
    if (resource.linear.bytes / bytes > UINT32_MAX) return CUDA_ERROR_INVALID_VALUE;
    config.width = static_cast<uint32_t>(resource.linear.bytes / bytes);
  }
  return CUDA_SUCCESS;
}

/// Sets how the texels are read. Reports what is not supported.
int set_reading(const TextureDescription& texture, TextureConfig& config) {
  constexpr unsigned kAsInteger = 1, kNormalized = 2, kSrgb = 16, kNoTrilinear = 32, kSeamless = 64;
  constexpr unsigned kModeLast = 3, kLinear = 1;
  if ((texture.flags & kSrgb) != 0) return unsupported_call("cuTexObjectCreate with sRGB");
  if ((texture.flags & ~(kAsInteger | kNormalized | kNoTrilinear | kSeamless)) != 0) {
    return unsupported_call("cuTexObjectCreate with these flags");
  }
  // A point is on one face, so only a filter tells the two kinds of edges apart.
  if ((texture.flags & kSeamless) != 0 && config.shape == TextureConfig::Shape::Cube &&
      texture.filter == kLinear) {
    return unsupported_call("cuTexObjectCreate with filters across the edges of a cube");
  }
  if (std::ranges::any_of(texture.address_modes, [](auto mode) { return mode > kModeLast; }) ||
      texture.filter > kLinear) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (std::ranges::any_of(texture.border, [](float value) { return value != 0; })) {
    return unsupported_call("cuTexObjectCreate with a border that is not 0");
  }
  config.normalized_coordinates = (texture.flags & kNormalized) != 0;
  config.normalized_values = config.texel != TextureConfig::Texel::Float && config.bits != 32 &&
                             (texture.flags & kAsInteger) == 0;
  if (config.shape == TextureConfig::Shape::Row) return CUDA_SUCCESS;  // Only read by index.
  const auto mode = [&](unsigned given) {
    const auto asked = static_cast<TextureConfig::Address>(given);
    const bool repeats =
        asked == TextureConfig::Address::Wrap || asked == TextureConfig::Address::Mirror;
    // According to the header, addresses are clamped without normalized coordinates.
    return repeats && !config.normalized_coordinates ? TextureConfig::Address::Clamp : asked;
  };
  config.address_x = mode(texture.address_modes[0]);
  config.address_y = mode(texture.address_modes[1]);
  config.address_z = mode(texture.address_modes[2]);
  config.filter = static_cast<TextureConfig::Filter>(texture.filter);
  if (config.smaller.empty()) return CUDA_SUCCESS;
  if (texture.mipmap_filter > kLinear) return CUDA_ERROR_INVALID_VALUE;
  if (texture.anisotropy_max > 1) {
    return unsupported_call("cuTexObjectCreate of a mipmapped array with anisotropy");
  }
  config.level_filter = static_cast<TextureConfig::Filter>(texture.mipmap_filter);
  config.level_bias = texture.mipmap_bias;
  config.level_min = texture.mipmap_min;
  config.level_max = texture.mipmap_max;
  return CUDA_SUCCESS;
}

/// A handle of the program, and what it has to be.
struct ObjectHandle {
  uint64_t object;
  bool is_surface;
};

/// Calls `work` with an object of the current device.
template <typename Work>
int with_object(ObjectHandle handle, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process&) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    const std::lock_guard lock(place.slot->mutex);
    const auto found = place.slot->textures.find(handle.object);
    const bool is_one =
        found != place.slot->textures.end() && found->second.is_surface == handle.is_surface;
    return is_one ? work(place, found->second) : static_cast<int>(CUDA_ERROR_INVALID_VALUE);
  });
}

/// Makes the object on the device and keeps what the program said of it.
int make_object(const Place& place, const TextureConfig& config, const TextureState& state,
                uint64_t* object) {
  const char* const call = config.is_surface ? "cuSurfObjectCreate" : "cuTexObjectCreate";
  const auto made = place.slot->device->make_texture(config);
  if (!made) {
    say_once(made.error().message, fmt::format("{}: {}", call, made.error().message));
    return code_of(made.error());
  }
  const std::lock_guard lock(place.slot->mutex);
  place.slot->textures[*made] = state;
  *object = *made;
  return CUDA_SUCCESS;
}

int destroy_object(ObjectHandle handle, const char* call = __builtin_FUNCTION()) {
  Place at;
  const int code = with_object(
      handle,
      [&](const Place& place, const TextureState&) -> int {
        at = place;
        place.slot->textures.erase(handle.object);
        return CUDA_SUCCESS;
      },
      call);
  // Not under the mutex, which the launches that this waits for need.
  return code == CUDA_SUCCESS ? code_of(at.slot->device->free_texture(handle.object)) : code;
}

int tell_resource(ResourceDescription* told, ObjectHandle handle,
                  const char* call = __builtin_FUNCTION()) {
  return with_object(
      handle,
      [&](const Place&, const TextureState& state) -> int {
        if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
        *told = state.resource;
        return CUDA_SUCCESS;
      },
      call);
}

}  // namespace

GPUEMU_DRIVER_API int cuTexObjectCreate(uint64_t* texture, const ResourceDescription* resource,
                                        const TextureDescription* reading,
                                        const ViewDescription* view) {
  return driver_call([&](Process& driver) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    if (texture == nullptr || resource == nullptr || reading == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (view != nullptr && view->format != 0) {
      return unsupported_call("cuTexObjectCreate with a resource view");
    }
    TextureConfig config;
    int code = set_texels(driver, *resource, config);
    if (code == CUDA_SUCCESS) code = set_reading(*reading, config);
    if (code != CUDA_SUCCESS) return code;
    return make_object(place, config, {*resource, *reading, false}, texture);
  });
}

GPUEMU_DRIVER_API int cuTexObjectDestroy(uint64_t texture) {
  return destroy_object({texture, false});
}

GPUEMU_DRIVER_API int cuTexObjectGetResourceDesc(ResourceDescription* told, uint64_t texture) {
  return tell_resource(told, {texture, false});
}

GPUEMU_DRIVER_API int cuTexObjectGetTextureDesc(TextureDescription* told, uint64_t texture) {
  return with_object({texture, false}, [&](const Place&, const TextureState& state) -> int {
    if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *told = state.texture;
    return CUDA_SUCCESS;
  });
}

/// No texture has a resource view.
GPUEMU_DRIVER_API int cuTexObjectGetResourceViewDesc(ViewDescription* told, uint64_t texture) {
  return with_object({texture, false}, [&](const Place&, const TextureState&) -> int {
    if (told != nullptr) *told = {};
    return CUDA_ERROR_INVALID_VALUE;
  });
}

GPUEMU_DRIVER_API int cuSurfObjectCreate(uint64_t* surface, const ResourceDescription* resource) {
  return driver_call([&](Process& driver) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    if (surface == nullptr || resource == nullptr || resource->type != ResourceType::Array) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const auto array = driver.arrays.find(resource->array);
    if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if ((array->what.flags & kSurface) == 0) return CUDA_ERROR_INVALID_VALUE;
    TextureConfig config;
    config.is_surface = true;
    const int code = set_texels(driver, *resource, config);
    if (code != CUDA_SUCCESS) return code;
    return make_object(place, config, {*resource, {}, true}, surface);
  });
}

GPUEMU_DRIVER_API int cuSurfObjectDestroy(uint64_t surface) {
  return destroy_object({surface, true});
}

GPUEMU_DRIVER_API int cuSurfObjectGetResourceDesc(ResourceDescription* told, uint64_t surface) {
  return tell_resource(told, {surface, true});
}

}  // namespace gpuemu::libcuda
