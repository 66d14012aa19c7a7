// Implements texture and surface objects.
#include <algorithm>

#include "bindings/libcudart/calls/channel_formats.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

using libcuda::ResourceType;

/// Describes for the driver the texels and how they are read.
int describe_resource(const ResourceDescription& given, libcuda::ResourceDescription& what) {
  what = {};
  what.type = given.type;
#if GPUEMU_RUNTIME_MAJOR != 12
  what.flags = given.flags;
#endif
  const bool is_plain = given.type == ResourceType::Linear || given.type == ResourceType::Plane;
  if (!is_plain) {
    what.array = given.array;
    return cudaSuccess;
  }
  const bool is_plane = given.type == ResourceType::Plane;
  const auto texels = texels_of(is_plane ? given.plane.format : given.linear.format);
  if (!texels) return cudaErrorInvalidChannelDescriptor;
  if (is_plane) {
    what.plane = {reinterpret_cast<Address>(given.plane.pointer),
                  texels->format,
                  texels->channels,
                  given.plane.width,
                  given.plane.height,
                  given.plane.pitch_bytes};
  } else {
    what.linear = {reinterpret_cast<Address>(given.linear.pointer), texels->format,
                   texels->channels, given.linear.bytes};
  }
  return cudaSuccess;
}

constexpr unsigned kReadAsInteger = 1, kNormalizedCoordinates = 2, kSrgb = 16, kNoTrilinear = 32,
                   kSeamlessCubemap = 64;

libcuda::TextureDescription describe_texture(const TextureDescription& given) {
  libcuda::TextureDescription what{};
  std::copy(std::begin(given.address_modes), std::end(given.address_modes), what.address_modes);
  what.filter = given.filter;
  what.flags = (given.reads_normalized != 0 ? 0 : kReadAsInteger) |
               (given.normalized_coordinates != 0 ? kNormalizedCoordinates : 0) |
               (given.is_srgb != 0 ? kSrgb : 0) | (given.no_trilinear != 0 ? kNoTrilinear : 0) |
               (given.seamless_cubemap != 0 ? kSeamlessCubemap : 0);
  what.anisotropy_max = given.anisotropy_max;
  what.mipmap_filter = given.mipmap_filter;
  what.mipmap_bias = given.mipmap_bias;
  what.mipmap_min = given.mipmap_min;
  what.mipmap_max = given.mipmap_max;
  std::copy(std::begin(given.border), std::end(given.border), what.border);
  return what;
}

TextureDescription told_texture(const libcuda::TextureDescription& what) {
  TextureDescription told{};
  std::copy(std::begin(what.address_modes), std::end(what.address_modes), told.address_modes);
  told.filter = what.filter;
  told.reads_normalized = (what.flags & kReadAsInteger) != 0 ? 0 : 1;
  told.normalized_coordinates = (what.flags & kNormalizedCoordinates) != 0 ? 1 : 0;
  told.is_srgb = (what.flags & kSrgb) != 0 ? 1 : 0;
  told.no_trilinear = (what.flags & kNoTrilinear) != 0 ? 1 : 0;
  told.seamless_cubemap = (what.flags & kSeamlessCubemap) != 0 ? 1 : 0;
  told.anisotropy_max = what.anisotropy_max;
  told.mipmap_filter = what.mipmap_filter;
  told.mipmap_bias = what.mipmap_bias;
  told.mipmap_min = what.mipmap_min;
  told.mipmap_max = what.mipmap_max;
  std::copy(std::begin(what.border), std::end(what.border), told.border);
  return told;
}

void tell_resource(const libcuda::ResourceDescription& what, ResourceDescription* told) {
  *told = {};
  told->type = what.type;
#if GPUEMU_RUNTIME_MAJOR != 12
  told->flags = what.flags;
#endif
  if (what.type == ResourceType::Linear) {
    told->linear = {reinterpret_cast<void*>(what.linear.address),
                    told_format(what.linear.format, what.linear.channels), what.linear.bytes};
  } else if (what.type == ResourceType::Plane) {
    told->plane = {reinterpret_cast<void*>(what.plane.address),
                   told_format(what.plane.format, what.plane.channels), what.plane.width,
                   what.plane.height, what.plane.pitch_bytes};
  } else {
    told->array = what.array;
  }
}

}  // namespace

GPUEMU_RUNTIME_API int cudaCreateTextureObject(uint64_t* texture,
                                               const ResourceDescription* resource,
                                               const TextureDescription* reading,
                                               const libcuda::ViewDescription* view) {
  return runtime_call([&]() -> int {
    if (texture == nullptr || resource == nullptr || reading == nullptr) {
      return cudaErrorInvalidValue;
    }
    libcuda::ResourceDescription what{};
    if (const int code = describe_resource(*resource, what); code != cudaSuccess) return code;
    const libcuda::TextureDescription how = describe_texture(*reading);
    return cuTexObjectCreate(texture, &what, &how, view);
  });
}

GPUEMU_RUNTIME_FORWARD(cudaDestroyTextureObject, (uint64_t texture), cuTexObjectDestroy, (texture))

GPUEMU_RUNTIME_API int cudaGetTextureObjectResourceDesc(ResourceDescription* told,
                                                        uint64_t texture) {
  return runtime_call([&]() -> int {
    libcuda::ResourceDescription what{};
    if (told == nullptr) return cudaErrorInvalidValue;
    if (const int code = cuTexObjectGetResourceDesc(&what, texture); code != 0) return code;
    tell_resource(what, told);
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaGetTextureObjectTextureDesc(TextureDescription* told, uint64_t texture) {
  return runtime_call([&]() -> int {
    libcuda::TextureDescription what{};
    if (told == nullptr) return cudaErrorInvalidValue;
    if (const int code = cuTexObjectGetTextureDesc(&what, texture); code != 0) return code;
    *told = told_texture(what);
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_FORWARD(cudaGetTextureObjectResourceViewDesc,
                       (libcuda::ViewDescription * told, uint64_t texture),
                       cuTexObjectGetResourceViewDesc, (told, texture))

GPUEMU_RUNTIME_API int cudaCreateSurfaceObject(uint64_t* surface,
                                               const ResourceDescription* resource) {
  return runtime_call([&]() -> int {
    if (surface == nullptr || resource == nullptr) return cudaErrorInvalidValue;
    libcuda::ResourceDescription what{};
    if (const int code = describe_resource(*resource, what); code != cudaSuccess) return code;
    return cuSurfObjectCreate(surface, &what);
  });
}

GPUEMU_RUNTIME_FORWARD(cudaDestroySurfaceObject, (uint64_t surface), cuSurfObjectDestroy, (surface))

GPUEMU_RUNTIME_API int cudaGetSurfaceObjectResourceDesc(ResourceDescription* told,
                                                        uint64_t surface) {
  return runtime_call([&]() -> int {
    libcuda::ResourceDescription what{};
    if (told == nullptr) return cudaErrorInvalidValue;
    if (const int code = cuSurfObjectGetResourceDesc(&what, surface); code != 0) return code;
    tell_resource(what, told);
    return cudaSuccess;
  });
}

}  // namespace gpuemu::libcudart
