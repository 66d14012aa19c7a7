// Implements cudaMemcpy* and cudaMemset*, and accesses to variables by their symbols.
#include <optional>

#include "bindings/libcudart/calls/boxes.h"
#include "bindings/libcudart/registry.h"
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

using libcuda::Copy2d;
using libcuda::Copy3d;
/// The stream of an asynchronous call; without one the call waits.
using InStream = std::optional<Stream>;

int copy(void* to, const void* from, size_t bytes, CopyKind kind, InStream stream) {
  const int checked = check_direction(to, from, kind);
  if (checked != cudaSuccess || bytes == 0) return checked;
  const Address target = address_of(to), source = address_of(from);
  switch (kind) {
    case CopyKind::HostToDevice:
      return stream ? cuMemcpyHtoDAsync_v2(target, from, bytes, *stream)
                    : cuMemcpyHtoD_v2(target, from, bytes);
    case CopyKind::DeviceToHost:
      return stream ? cuMemcpyDtoHAsync_v2(to, source, bytes, *stream)
                    : cuMemcpyDtoH_v2(to, source, bytes);
    case CopyKind::DeviceToDevice:
      return stream ? cuMemcpyDtoDAsync_v2(target, source, bytes, *stream)
                    : cuMemcpyDtoD_v2(target, source, bytes);
    case CopyKind::HostToHost:
    case CopyKind::Default:
      break;
  }
  return stream ? cuMemcpyAsync(target, source, bytes, *stream) : cuMemcpy(target, source, bytes);
}

struct Rows {
  void* to;
  size_t to_pitch;
  const void* from;
  size_t from_pitch, width_bytes, height;
};

int copy_rows(const Rows& rows, CopyKind kind, InStream stream) {
  const int checked = check_direction(rows.to, rows.from, kind);
  if (checked != cudaSuccess) return checked;
  if (rows.width_bytes > rows.to_pitch || rows.width_bytes > rows.from_pitch) {
    return cudaErrorInvalidPitchValue;
  }
  if (rows.width_bytes == 0 || rows.height == 0) return cudaSuccess;
  Copy2d what{};
  set_end(what.from, rows.from, rows.from_pitch, reads_host(kind), kind);
  set_end(what.to, rows.to, rows.to_pitch, writes_host(kind), kind);
  what.width_bytes = rows.width_bytes;
  what.height = rows.height;
  return stream ? cuMemcpy2DAsync_v2(&what, *stream) : cuMemcpy2DUnaligned_v2(&what);
}

int copy_box(const Copy3dParameters* given, InStream stream) {
  Copy3d what{};
  const int code = describe_box(given, what);
  const bool is_empty = what.width_bytes == 0 || what.height == 0 || what.depth == 0;
  if (code != cudaSuccess || is_empty) return code;
  return stream ? cuMemcpy3DAsync_v2(&what, *stream) : cuMemcpy3D_v2(&what);
}

int copy_between(void* to, int to_device, const void* from, int from_device, size_t bytes,
                 InStream stream) {
  Context to_context = nullptr, from_context = nullptr;
  if (const int code = cuDevicePrimaryCtxRetain(&to_context, to_device); code != 0) return code;
  if (const int code = cuDevicePrimaryCtxRetain(&from_context, from_device); code != 0) return code;
  if (bytes == 0) return cudaSuccess;
  return stream ? cuMemcpyPeerAsync(address_of(to), to_context, address_of(from), from_context,
                                    bytes, *stream)
                : cuMemcpyPeer(address_of(to), to_context, address_of(from), from_context, bytes);
}

int copy_box_between(const Copy3dPeerParameters* given, InStream stream) {
  if (given == nullptr) return cudaErrorInvalidValue;
  const Copy3dParameters box{given->from, given->to, given->extent, CopyKind::DeviceToDevice};
  Copy3d what{};
  if (const int code = describe_box(&box, what); code != cudaSuccess) return code;
  Context to = nullptr, from = nullptr;
  if (const int code = cuDevicePrimaryCtxRetain(&to, given->to_device); code != 0) return code;
  if (const int code = cuDevicePrimaryCtxRetain(&from, given->from_device); code != 0) return code;
  what.to.context = to;
  what.from.context = from;
  return stream ? cuMemcpy3DPeerAsync(&what, *stream) : cuMemcpy3DPeer(&what);
}

/// Calls `work` with the address of a part of a variable.
template <typename Work>
int with_part(const void* symbol, size_t bytes, size_t offset, const Work& work,
              const char* call = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        const FoundVariable found = find_variable(symbol);
        if (found.code != cudaSuccess) return found.code;
        if (offset > found.bytes || bytes > found.bytes - offset) return cudaErrorInvalidValue;
        return work(reinterpret_cast<void*>(found.address + offset));
      },
      call);
}

int copy_to_symbol(const void* symbol, const void* from, size_t bytes, size_t offset, CopyKind kind,
                   InStream stream, const char* call = __builtin_FUNCTION()) {
  return with_part(
      symbol, bytes, offset,
      [&](void* part) -> int {
        if (writes_host(kind)) return cudaErrorInvalidMemcpyDirection;
        return copy(part, from, bytes, kind, stream);
      },
      call);
}

int copy_from_symbol(void* to, const void* symbol, size_t bytes, size_t offset, CopyKind kind,
                     InStream stream, const char* call = __builtin_FUNCTION()) {
  return with_part(
      symbol, bytes, offset,
      [&](void* part) -> int {
        if (reads_host(kind)) return cudaErrorInvalidMemcpyDirection;
        return copy(to, part, bytes, kind, stream);
      },
      call);
}

int fill(void* pointer, int value, size_t bytes, InStream stream) {
  const auto byte = static_cast<unsigned char>(value);
  if (bytes == 0) return cudaSuccess;
  return stream ? cuMemsetD8Async(address_of(pointer), byte, bytes, *stream)
                : cuMemsetD8_v2(address_of(pointer), byte, bytes);
}

int fill_rows(void* pointer, size_t pitch, int value, size_t width_bytes, size_t height,
              InStream stream) {
  const auto byte = static_cast<unsigned char>(value);
  if (width_bytes > pitch && height > 1) return cudaErrorInvalidValue;
  if (width_bytes == 0 || height == 0) return cudaSuccess;
  return stream ? cuMemsetD2D8Async(address_of(pointer), pitch, byte, width_bytes, height, *stream)
                : cuMemsetD2D8_v2(address_of(pointer), pitch, byte, width_bytes, height);
}

/// Fills the planes of a box. If the box has the full height of the pitched memory, all its rows
/// are filled as one plane.
int fill_box(const PitchedPointer& pitched, int value, const Extent& extent, InStream stream) {
  auto* plane = static_cast<std::byte*>(pitched.pointer);
  for (size_t z = 0; z < extent.depth; ++z, plane += pitched.pitch * pitched.height) {
    const int code = fill_rows(plane, pitched.pitch, value, extent.width, extent.height, stream);
    if (code != cudaSuccess) return code;
  }
  return cudaSuccess;
}

}  // namespace

GPUEMU_RUNTIME_FORWARD(cudaMemcpy, (void* to, const void* from, size_t bytes, CopyKind kind), copy,
                       (to, from, bytes, kind, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy, cudaMemcpy_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemcpyAsync,
                       (void* to, const void* from, size_t bytes, CopyKind kind, Stream stream),
                       copy, (to, from, bytes, kind, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpyAsync, cudaMemcpyAsync_ptsz)

GPUEMU_RUNTIME_FORWARD(cudaMemcpy2D,
                       (void* to, size_t to_pitch, const void* from, size_t from_pitch,
                        size_t width_bytes, size_t height, CopyKind kind),
                       copy_rows,
                       ({to, to_pitch, from, from_pitch, width_bytes, height}, kind, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy2D, cudaMemcpy2D_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemcpy2DAsync,
                       (void* to, size_t to_pitch, const void* from, size_t from_pitch,
                        size_t width_bytes, size_t height, CopyKind kind, Stream stream),
                       copy_rows,
                       ({to, to_pitch, from, from_pitch, width_bytes, height}, kind, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy2DAsync, cudaMemcpy2DAsync_ptsz)

GPUEMU_RUNTIME_FORWARD(cudaMemcpy3D, (const Copy3dParameters* what), copy_box, (what, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy3D, cudaMemcpy3D_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemcpy3DAsync, (const Copy3dParameters* what, Stream stream), copy_box,
                       (what, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy3DAsync, cudaMemcpy3DAsync_ptsz)

GPUEMU_RUNTIME_FORWARD(cudaMemcpyPeer,
                       (void* to, int to_device, const void* from, int from_device, size_t bytes),
                       copy_between, (to, to_device, from, from_device, bytes, std::nullopt))
GPUEMU_RUNTIME_FORWARD(cudaMemcpyPeerAsync,
                       (void* to, int to_device, const void* from, int from_device, size_t bytes,
                        Stream stream),
                       copy_between, (to, to_device, from, from_device, bytes, stream))

GPUEMU_RUNTIME_FORWARD(cudaMemcpy3DPeer, (const Copy3dPeerParameters* what), copy_box_between,
                       (what, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy3DPeer, cudaMemcpy3DPeer_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemcpy3DPeerAsync, (const Copy3dPeerParameters* what, Stream stream),
                       copy_box_between, (what, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpy3DPeerAsync, cudaMemcpy3DPeerAsync_ptsz)

GPUEMU_RUNTIME_API int cudaMemcpyToSymbol(const void* symbol, const void* from, size_t bytes,
                                          size_t offset, CopyKind kind) {
  return copy_to_symbol(symbol, from, bytes, offset, kind, std::nullopt);
}
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpyToSymbol, cudaMemcpyToSymbol_ptds)

GPUEMU_RUNTIME_API int cudaMemcpyToSymbolAsync(const void* symbol, const void* from, size_t bytes,
                                               size_t offset, CopyKind kind, Stream stream) {
  return copy_to_symbol(symbol, from, bytes, offset, kind, stream);
}
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync_ptsz)

GPUEMU_RUNTIME_API int cudaMemcpyFromSymbol(void* to, const void* symbol, size_t bytes,
                                            size_t offset, CopyKind kind) {
  return copy_from_symbol(to, symbol, bytes, offset, kind, std::nullopt);
}
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpyFromSymbol, cudaMemcpyFromSymbol_ptds)

GPUEMU_RUNTIME_API int cudaMemcpyFromSymbolAsync(void* to, const void* symbol, size_t bytes,
                                                 size_t offset, CopyKind kind, Stream stream) {
  return copy_from_symbol(to, symbol, bytes, offset, kind, stream);
}
GPUEMU_RUNTIME_PER_THREAD(cudaMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync_ptsz)

GPUEMU_RUNTIME_API int cudaGetSymbolAddress(void** pointer, const void* symbol) {
  return with_part(symbol, 0, 0, [&](void* part) -> int {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    *pointer = part;
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaGetSymbolSize(size_t* bytes, const void* symbol) {
  return runtime_call([&]() -> int {
    const FoundVariable found = find_variable(symbol);
    if (found.code != cudaSuccess) return found.code;
    if (bytes == nullptr) return cudaErrorInvalidValue;
    *bytes = found.bytes;
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_FORWARD(cudaMemset, (void* pointer, int value, size_t bytes), fill,
                       (pointer, value, bytes, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemset, cudaMemset_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemsetAsync, (void* pointer, int value, size_t bytes, Stream stream),
                       fill, (pointer, value, bytes, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemsetAsync, cudaMemsetAsync_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaMemset2D,
                       (void* pointer, size_t pitch, int value, size_t width_bytes, size_t height),
                       fill_rows, (pointer, pitch, value, width_bytes, height, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemset2D, cudaMemset2D_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemset2DAsync,
                       (void* pointer, size_t pitch, int value, size_t width_bytes, size_t height,
                        Stream stream),
                       fill_rows, (pointer, pitch, value, width_bytes, height, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemset2DAsync, cudaMemset2DAsync_ptsz)
GPUEMU_RUNTIME_FORWARD(cudaMemset3D, (PitchedPointer pitched, int value, Extent extent), fill_box,
                       (pitched, value, extent, std::nullopt))
GPUEMU_RUNTIME_PER_THREAD(cudaMemset3D, cudaMemset3D_ptds)
GPUEMU_RUNTIME_FORWARD(cudaMemset3DAsync,
                       (PitchedPointer pitched, int value, Extent extent, Stream stream), fill_box,
                       (pitched, value, extent, stream))
GPUEMU_RUNTIME_PER_THREAD(cudaMemset3DAsync, cudaMemset3DAsync_ptsz)

}  // namespace gpuemu::libcudart
