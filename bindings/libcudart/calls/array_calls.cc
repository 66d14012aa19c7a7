// Implements arrays, their copies, and texture objects.
#include <bit>
#include <optional>

#include "bindings/libcudart/calls/boxes.h"
#include "bindings/libcudart/calls/unsupported.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

using libcuda::ArrayFormat;
using libcuda::Copy2d;
using libcuda::ResourceType;
/// The stream of an asynchronous call; without one the call waits.
using InStream = std::optional<Stream>;

struct Texels {
  ArrayFormat format;
  unsigned channels;
};

/// Returns nothing for channels of different sizes and for formats that textures do not support.
std::optional<Texels> texels_of(const ChannelFormat& given) {
  const int bits[] = {given.x, given.y, given.z, given.w};
  unsigned channels = 0;
  while (channels < 4 && bits[channels] != 0) {
    if (bits[channels] != given.x) return std::nullopt;
    ++channels;
  }
  for (unsigned i = channels; i < 4; ++i) {
    if (bits[i] != 0) return std::nullopt;
  }
  const bool is_size = given.x == 8 || given.x == 16 || given.x == 32;
  if (!is_size || channels == 0 || channels == 3) return std::nullopt;
  const unsigned size = static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(given.x))) - 3;
  switch (given.kind) {
    case ChannelKind::Unsigned:
      return Texels{static_cast<ArrayFormat>(1 + size), channels};
    case ChannelKind::Signed:
      return Texels{static_cast<ArrayFormat>(8 + size), channels};
    case ChannelKind::Float:
      if (size == 0) return std::nullopt;
      return Texels{size == 1 ? ArrayFormat::Half : ArrayFormat::Float, channels};
  }
  return std::nullopt;
}

ChannelFormat told_format(ArrayFormat format, unsigned channels) {
  const auto number = static_cast<unsigned>(format);
  ChannelFormat told{};
  int bits = 0;
  if (format == ArrayFormat::Half || format == ArrayFormat::Float) {
    told.kind = ChannelKind::Float;
    bits = format == ArrayFormat::Half ? 16 : 32;
  } else {
    told.kind = number < 8 ? ChannelKind::Unsigned : ChannelKind::Signed;
    bits = 8 << (number < 8 ? number - 1 : number - 8);
  }
  int* const all[] = {&told.x, &told.y, &told.z, &told.w};
  for (unsigned i = 0; i < channels && i < 4; ++i) *all[i] = bits;
  return told;
}

int make_array(ArrayHandle* array, const ChannelFormat* format, const Extent& extent,
               unsigned flags) {
  if (array == nullptr || format == nullptr) return cudaErrorInvalidValue;
  const auto texels = texels_of(*format);
  if (!texels) return cudaErrorInvalidChannelDescriptor;
  const libcuda::ArrayDescription what{extent.width,   extent.height,    extent.depth,
                                       texels->format, texels->channels, flags};
  return cuArray3DCreate_v2(array, &what);
}

/// The position in an array where rows begin; `x` is in bytes.
struct ArrayPlace {
  ArrayHandle array;
  size_t x, y;
};

Copy2d::End end_of(const ArrayPlace& place) {
  Copy2d::End end{};
  end.type = libcuda::MemoryType::Array;
  end.array = place.array;
  end.x_bytes = place.x;
  end.y = place.y;
  return end;
}

struct Pointer {
  const void* pointer;
  size_t pitch;
  bool of_host;
};

Copy2d::End end_of(const Pointer& given, CopyKind kind) {
  Copy2d::End end{};
  set_end(end, given.pointer, given.pitch, given.of_host, kind);
  return end;
}

int copy_rows(const Copy2d::End& to, const Copy2d::End& from, size_t width_bytes, size_t height,
              InStream stream) {
  const Copy2d what{from, to, width_bytes, height};
  if (width_bytes == 0 || height == 0) return cudaSuccess;
  return stream ? cuMemcpy2DAsync_v2(&what, *stream) : cuMemcpy2DUnaligned_v2(&what);
}

int copy_to(const ArrayPlace& to, const void* from, size_t pitch, size_t width_bytes, size_t height,
            CopyKind kind, InStream stream) {
  if (const int code = check_direction(nullptr, from, kind); code != cudaSuccess) return code;
  if (writes_host(kind)) return cudaErrorInvalidMemcpyDirection;
  return copy_rows(end_of(to), end_of({from, pitch, reads_host(kind)}, kind), width_bytes, height,
                   stream);
}

int copy_from(void* to, size_t pitch, const ArrayPlace& from, size_t width_bytes, size_t height,
              CopyKind kind, InStream stream) {
  if (const int code = check_direction(to, nullptr, kind); code != cudaSuccess) return code;
  if (reads_host(kind)) return cudaErrorInvalidMemcpyDirection;
  return copy_rows(end_of({to, pitch, writes_host(kind)}, kind), end_of(from), width_bytes, height,
                   stream);
}

/// Calls `copy` for each row of an array that consecutive bytes cover, with the place, the bytes
/// before it, and its bytes.
template <typename Copy>
int each_row(const ArrayPlace& begin, size_t bytes, const Copy& copy) {
  libcuda::ArrayDescription what{};
  if (const int code = cuArray3DGetDescriptor_v2(&what, begin.array); code != 0) return code;
  const size_t row_bytes = what.width * texel_bytes(begin.array);
  if (begin.x >= row_bytes) return cudaErrorInvalidValue;
  ArrayPlace at = begin;
  for (size_t done = 0; done < bytes;) {
    const size_t part = std::min(bytes - done, row_bytes - at.x);
    if (const int code = copy(at, done, part); code != cudaSuccess) return code;
    done += part;
    at = {at.array, 0, at.y + 1};
  }
  return cudaSuccess;
}

int copy_bytes_to(const ArrayPlace& to, const void* from, size_t bytes, CopyKind kind,
                  InStream stream) {
  const auto* const source = static_cast<const std::byte*>(from);
  return each_row(to, bytes, [&](const ArrayPlace& at, size_t done, size_t part) {
    return copy_to(at, source + done, part, part, 1, kind, stream);
  });
}

int copy_bytes_from(void* to, const ArrayPlace& from, size_t bytes, CopyKind kind,
                    InStream stream) {
  auto* const target = static_cast<std::byte*>(to);
  return each_row(from, bytes, [&](const ArrayPlace& at, size_t done, size_t part) {
    return copy_from(target + done, part, at, part, 1, kind, stream);
  });
}

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

}  // namespace

GPUEMU_RUNTIME_FORWARD(cudaMallocArray,
                       (ArrayHandle * array, const ChannelFormat* format, size_t width,
                        size_t height, unsigned flags),
                       make_array, (array, format, {width, height, 0}, flags))
GPUEMU_RUNTIME_FORWARD(cudaMalloc3DArray,
                       (ArrayHandle * array, const ChannelFormat* format, Extent extent,
                        unsigned flags),
                       make_array, (array, format, extent, flags))

GPUEMU_RUNTIME_API int cudaFreeArray(ArrayHandle array) {
  return runtime_call(
      [&]() -> int { return array == nullptr ? cudaSuccess : cuArrayDestroy(array); });
}

GPUEMU_RUNTIME_API int cudaArrayGetInfo(ChannelFormat* format, Extent* extent, unsigned* flags,
                                        ArrayHandle array) {
  return runtime_call([&]() -> int {
    libcuda::ArrayDescription what{};
    const int code = cuArray3DGetDescriptor_v2(&what, array);
    if (code != cudaSuccess) return code;
    if (format != nullptr) *format = told_format(what.format, what.channels);
    if (extent != nullptr) *extent = {what.width, what.height, what.depth};
    if (flags != nullptr) *flags = what.flags;
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaGetChannelDesc(ChannelFormat* format, ArrayHandle array) {
  if (format == nullptr) return finish(cudaErrorInvalidValue);
  return cudaArrayGetInfo(format, nullptr, nullptr, array);
}

GPUEMU_RUNTIME_FORWARD(cudaMemcpy2DToArray,
                       (ArrayHandle to, size_t x, size_t y, const void* from, size_t pitch,
                        size_t width_bytes, size_t height, CopyKind kind),
                       copy_to, ({to, x, y}, from, pitch, width_bytes, height, kind, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy2DToArray, cudaMemcpy2DToArray_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemcpy2DToArrayAsync,
                       (ArrayHandle to, size_t x, size_t y, const void* from, size_t pitch,
                        size_t width_bytes, size_t height, CopyKind kind, Stream stream),
                       copy_to, ({to, x, y}, from, pitch, width_bytes, height, kind, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy2DToArrayAsync, cudaMemcpy2DToArrayAsync_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaMemcpy2DFromArray,
                       (void* to, size_t pitch, ArrayHandle from, size_t x, size_t y,
                        size_t width_bytes, size_t height, CopyKind kind),
                       copy_from,
                       (to, pitch, {from, x, y}, width_bytes, height, kind, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy2DFromArray, cudaMemcpy2DFromArray_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemcpy2DFromArrayAsync,
                       (void* to, size_t pitch, ArrayHandle from, size_t x, size_t y,
                        size_t width_bytes, size_t height, CopyKind kind, Stream stream),
                       copy_from, (to, pitch, {from, x, y}, width_bytes, height, kind, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy2DFromArrayAsync, cudaMemcpy2DFromArrayAsync_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaMemcpy2DArrayToArray,
                       (ArrayHandle to, size_t to_x, size_t to_y, ArrayHandle from, size_t from_x,
                        size_t from_y, size_t width_bytes, size_t height, CopyKind),
                       copy_rows,
                       (end_of({to, to_x, to_y}), end_of({from, from_x, from_y}), width_bytes,
                        height, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy2DArrayToArray, cudaMemcpy2DArrayToArray_ptds)

GPUEMU_RUNTIME_FORWARD(cudaMemcpyToArray,
                       (ArrayHandle to, size_t x, size_t y, const void* from, size_t bytes,
                        CopyKind kind),
                       copy_bytes_to, ({to, x, y}, from, bytes, kind, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpyToArray, cudaMemcpyToArray_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemcpyToArrayAsync,
                       (ArrayHandle to, size_t x, size_t y, const void* from, size_t bytes,
                        CopyKind kind, Stream stream),
                       copy_bytes_to, ({to, x, y}, from, bytes, kind, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpyToArrayAsync, cudaMemcpyToArrayAsync_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaMemcpyFromArray,
                       (void* to, ArrayHandle from, size_t x, size_t y, size_t bytes,
                        CopyKind kind),
                       copy_bytes_from, (to, {from, x, y}, bytes, kind, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpyFromArray, cudaMemcpyFromArray_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemcpyFromArrayAsync,
                       (void* to, ArrayHandle from, size_t x, size_t y, size_t bytes, CopyKind kind,
                        Stream stream),
                       copy_bytes_from, (to, {from, x, y}, bytes, kind, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpyFromArrayAsync, cudaMemcpyFromArrayAsync_ptsz)

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

}  // namespace gpuemu::libcudart
