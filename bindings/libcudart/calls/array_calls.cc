// Implements arrays and their copies.
#include <optional>

#include "bindings/libcudart/calls/boxes.h"
#include "bindings/libcudart/calls/channel_formats.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

using libcuda::Copy2d;
/// The stream of an asynchronous call; without one the call waits.
using InStream = std::optional<Stream>;

int describe_array(const ChannelFormat* format, const Extent& extent, unsigned flags,
                   libcuda::ArrayDescription& what) {
  if (format == nullptr) return cudaErrorInvalidValue;
  const auto texels = texels_of(*format);
  if (!texels) return cudaErrorInvalidChannelDescriptor;
  what = {extent.width, extent.height, extent.depth, texels->format, texels->channels, flags};
  return cudaSuccess;
}

int make_array(ArrayHandle* array, const ChannelFormat* format, const Extent& extent,
               unsigned flags) {
  libcuda::ArrayDescription what{};
  const int code = describe_array(format, extent, flags, what);
  return code != cudaSuccess ? code : cuArray3DCreate_v2(array, &what);
}

int make_mipmap(libcuda::MipmapHandle* mipmap, const ChannelFormat* format, const Extent& extent,
                unsigned levels, unsigned flags) {
  libcuda::ArrayDescription what{};
  const int code = describe_array(format, extent, flags, what);
  return code != cudaSuccess ? code : cuMipmappedArrayCreate(mipmap, &what, levels);
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

GPUEMU_RUNTIME_FORWARD(cudaMallocMipmappedArray,
                       (libcuda::MipmapHandle * mipmap, const ChannelFormat* format, Extent extent,
                        unsigned levels, unsigned flags),
                       make_mipmap, (mipmap, format, extent, levels, flags))
GPUEMU_RUNTIME_FORWARD(cudaGetMipmappedArrayLevel,
                       (ArrayHandle * array, libcuda::MipmapHandle mipmap, unsigned level),
                       cuMipmappedArrayGetLevel, (array, mipmap, level))

GPUEMU_RUNTIME_API int cudaFreeMipmappedArray(libcuda::MipmapHandle mipmap) {
  return runtime_call(
      [&]() -> int { return mipmap == nullptr ? cudaSuccess : cuMipmappedArrayDestroy(mipmap); });
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

}  // namespace gpuemu::libcudart
