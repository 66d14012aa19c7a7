// Implements arrays and texture objects. An array is an allocation of the device with rows of one
// length; its layout is that of plain memory, which programs cannot observe.
#include <algorithm>
#include <optional>

#include "bindings/libcuda/memory.h"
#include "bindings/libcuda/process.h"
#include "bindings/libcuda/transfer.h"

namespace gpuemu::libcuda {
namespace {

struct Texel {
  TextureConfig::Texel kind;
  uint32_t bits;
};

std::optional<Texel> texel_of(ArrayFormat format) {
  using Kind = TextureConfig::Texel;
  switch (format) {
    case ArrayFormat::Unsigned8:
      return Texel{Kind::Unsigned, 8};
    case ArrayFormat::Unsigned16:
      return Texel{Kind::Unsigned, 16};
    case ArrayFormat::Unsigned32:
      return Texel{Kind::Unsigned, 32};
    case ArrayFormat::Signed8:
      return Texel{Kind::Signed, 8};
    case ArrayFormat::Signed16:
      return Texel{Kind::Signed, 16};
    case ArrayFormat::Signed32:
      return Texel{Kind::Signed, 32};
    case ArrayFormat::Half:
      return Texel{Kind::Float, 16};
    case ArrayFormat::Float:
      return Texel{Kind::Float, 32};
  }
  return std::nullopt;
}

/// The supported flags of arrays.
constexpr unsigned kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8;

int make_array(ArrayHandle* array, const ArrayDescription& what,
               const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    constexpr size_t kPitch = 512, kSizeMax = size_t{1} << 20;
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    const bool counts = what.channels == 1 || what.channels == 2 || what.channels == 4;
    const bool fits = what.width <= kSizeMax && what.height <= kSizeMax && what.depth <= kSizeMax;
    if (array == nullptr || what.width == 0 || !counts || !fits) return CUDA_ERROR_INVALID_VALUE;
    if (!texel_of(what.format)) return unsupported_call("cuArrayCreate of this format");
    if ((what.flags & ~(kLayered | kSurface | kCubemap | kGather)) != 0) {
      return unsupported_call("cuArray3DCreate with these flags");
    }
    auto made = std::make_shared<ArrayState>();
    made->context = place.context;
    made->device = place.device;
    made->what = what;
    made->pitch_bytes = (made->row_bytes() + kPitch - 1) / kPitch * kPitch;
    const uint64_t rows = made->rows() * made->planes();
    if (rows > (uint64_t{1} << 40) / made->pitch_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    Address address = 0;
    if (const int code =
            allocate_memory(place, rows * made->pitch_bytes, MemoryKind::Array, call, &address);
        code != CUDA_SUCCESS) {
      return code;
    }
    made->address = address;
    *array = driver.arrays.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

/// Calls `work` with the array; CUDA_ERROR_INVALID_HANDLE for an unknown one.
template <typename Work>
int with_array(ArrayHandle array, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.arrays.find(array);
    return state == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_HANDLE) : work(driver, *state);
  });
}

/// Sets the location of the texels. Reports what is not supported.
int set_texels(Process& driver, const ResourceDescription& resource, TextureConfig& config) {
  using Shape = TextureConfig::Shape;
  ArrayFormat format{};
  switch (resource.type) {
    case ResourceType::Array: {
      const auto array = driver.arrays.find(resource.array);
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      if (array->what.depth != 0) return unsupported_call("cuTexObjectCreate of 3D and layers");
      config.shape = array->what.height == 0 ? Shape::Line : Shape::Plane;
      config.address = array->address;
      config.width = static_cast<uint32_t>(array->what.width);
      config.height = static_cast<uint32_t>(array->rows());
      config.pitch_bytes = array->pitch_bytes;
      config.channels = array->what.channels;
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
      config.address = resource.plane.address;
      config.width = static_cast<uint32_t>(resource.plane.width);
      config.height = static_cast<uint32_t>(resource.plane.height);
      config.pitch_bytes = resource.plane.pitch_bytes;
      config.channels = resource.plane.channels;
      format = resource.plane.format;
      break;
    case ResourceType::MipmappedArray:
      return unsupported_call("cuTexObjectCreate of a mipmapped array");
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  const auto texel = texel_of(format);
  if (!texel) return unsupported_call("cuTexObjectCreate of this format");
  config.texel = texel->kind;
  config.bits = texel->bits;
  if (resource.type == ResourceType::Linear) {
    const uint64_t bytes = std::max(1u, config.texel_bytes());
    config.width = static_cast<uint32_t>(resource.linear.bytes / bytes);
  }
  return CUDA_SUCCESS;
}

/// Sets how the texels are read. Reports what is not supported.
int set_reading(const TextureDescription& texture, TextureConfig& config) {
  constexpr unsigned kAsInteger = 1, kNormalized = 2, kSrgb = 16, kNoTrilinear = 32;
  constexpr unsigned kModeLast = 3, kLinear = 1;
  if ((texture.flags & kSrgb) != 0) return unsupported_call("cuTexObjectCreate with sRGB");
  if ((texture.flags & ~(kAsInteger | kNormalized | kNoTrilinear)) != 0) {
    return unsupported_call("cuTexObjectCreate with these flags");
  }
  if (texture.address_modes[0] > kModeLast || texture.address_modes[1] > kModeLast ||
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
  config.filter = static_cast<TextureConfig::Filter>(texture.filter);
  return CUDA_SUCCESS;
}

/// Calls `work` with the texture object of the current device.
template <typename Work>
int with_texture(uint64_t texture, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process&) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    const std::lock_guard lock(place.slot->mutex);
    const auto found = place.slot->textures.find(texture);
    return found == place.slot->textures.end() ? static_cast<int>(CUDA_ERROR_INVALID_VALUE)
                                               : work(place, found->second);
  });
}

}  // namespace

uint64_t ArrayState::texel_bytes() const {
  const auto texel = texel_of(what.format);
  return texel ? texel->bits / 8 * uint64_t{what.channels} : 0;
}

GPUEMU_DRIVER_API int cuArrayCreate_v2(ArrayHandle* array, const PlaneDescription* what) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return make_array(array, {what->width, what->height, 0, what->format, what->channels, 0});
}

GPUEMU_DRIVER_API int cuArray3DCreate_v2(ArrayHandle* array, const ArrayDescription* what) {
  if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return make_array(array, *what);
}

GPUEMU_DRIVER_API int cuArrayDestroy(ArrayHandle array) {
  return with_array(array, [&](Process& driver, const ArrayState& state) -> int {
    const uint64_t address = state.address;
    driver.arrays.remove(array);
    release_memory(driver, address, "cuArrayDestroy");
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuArrayGetDescriptor_v2(PlaneDescription* told, ArrayHandle array) {
  return with_array(array, [&](Process&, const ArrayState& state) -> int {
    const ArrayDescription& what = state.what;
    if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *told = {what.width, what.height, what.format, what.channels};
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuArray3DGetDescriptor_v2(ArrayDescription* told, ArrayHandle array) {
  return with_array(array, [&](Process&, const ArrayState& state) -> int {
    if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *told = state.what;
    return CUDA_SUCCESS;
  });
}

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
    const auto made = place.slot->device->make_texture(config);
    if (!made) {
      say_once(made.error().message, "cuTexObjectCreate: " + made.error().message);
      return code_of(made.error());
    }
    const std::lock_guard lock(place.slot->mutex);
    place.slot->textures[*made] = {*resource, *reading};
    *texture = *made;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuTexObjectDestroy(uint64_t texture) {
  Place at;
  const int code = with_texture(texture, [&](const Place& place, const TextureState&) -> int {
    at = place;
    place.slot->textures.erase(texture);
    return CUDA_SUCCESS;
  });
  // Not under the mutex, which the launches that this waits for need.
  return code == CUDA_SUCCESS ? code_of(at.slot->device->free_texture(texture)) : code;
}

GPUEMU_DRIVER_API int cuTexObjectGetResourceDesc(ResourceDescription* told, uint64_t texture) {
  return with_texture(texture, [&](const Place&, const TextureState& state) -> int {
    if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *told = state.resource;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuTexObjectGetTextureDesc(TextureDescription* told, uint64_t texture) {
  return with_texture(texture, [&](const Place&, const TextureState& state) -> int {
    if (told == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *told = state.texture;
    return CUDA_SUCCESS;
  });
}

/// No texture has a resource view.
GPUEMU_DRIVER_API int cuTexObjectGetResourceViewDesc(ViewDescription* told, uint64_t texture) {
  return with_texture(texture, [&](const Place&, const TextureState&) -> int {
    if (told != nullptr) *told = {};
    return CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace gpuemu::libcuda
