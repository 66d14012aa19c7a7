#include "bindings/libcudart/calls/boxes.h"

#include <algorithm>

#include "bindings/libcudart/driver.h"

namespace gpuemu::libcudart {
namespace {

using libcuda::Copy3d;

/// Returns true if only kernels may use this memory. The host's side of a copy must not be there.
bool is_device_only(const void* pointer) {
  constexpr int kType = 2, kIsManaged = 8;
  const auto address = reinterpret_cast<Address>(pointer);
  unsigned type = 0, is_managed = 0;
  if (cuPointerGetAttribute(&type, kType, address) != cudaSuccess) return false;
  (void)cuPointerGetAttribute(&is_managed, kIsManaged, address);
  return type == static_cast<unsigned>(MemoryType::Device) && is_managed == 0;
}

/// Positions and widths in an array are in texels.
void set_end_3d(Copy3d::End& end, const Copy3dEnd& given, bool of_host, CopyKind kind) {
  size_t element_bytes = 1;
  if (given.array != nullptr) {
    end.type = libcuda::MemoryType::Array;
    end.array = given.array;
    element_bytes = texel_bytes(given.array);
  } else {
    set_end(end, given.pointer.pointer, given.pointer.pitch, of_host, kind);
    end.height = given.pointer.height;
  }
  end.x_bytes = given.position.x * element_bytes;
  end.y = given.position.y;
  end.z = given.position.z;
}

Copy3dEnd told_end(const Copy3d::End& end, size_t width_bytes) {
  Copy3dEnd told{};
  size_t element_bytes = 1;
  if (end.type == libcuda::MemoryType::Array) {
    told.array = end.array;
    element_bytes = std::max<size_t>(1, texel_bytes(end.array));
  } else {
    const bool of_host = end.type == libcuda::MemoryType::Host;
    told.pointer = {of_host ? const_cast<void*>(end.host) : reinterpret_cast<void*>(end.device),
                    end.pitch, width_bytes, end.height};
  }
  told.position = {end.x_bytes / element_bytes, end.y, end.z};
  return told;
}

CopyKind told_kind(const Copy3d& what) {
  using libcuda::MemoryType;
  if (what.from.type == MemoryType::Unified || what.to.type == MemoryType::Unified) {
    return CopyKind::Default;
  }
  const bool from_host = what.from.type == MemoryType::Host;
  const bool to_host = what.to.type == MemoryType::Host;
  if (from_host) return to_host ? CopyKind::HostToHost : CopyKind::HostToDevice;
  return to_host ? CopyKind::DeviceToHost : CopyKind::DeviceToDevice;
}

}  // namespace

int check_direction(const void* to, const void* from, CopyKind kind) {
  if (kind < CopyKind::HostToHost || kind > CopyKind::Default) {
    return cudaErrorInvalidMemcpyDirection;
  }
  const bool is_wrong =
      (reads_host(kind) && is_device_only(from)) || (writes_host(kind) && is_device_only(to));
  return is_wrong ? cudaErrorInvalidValue : cudaSuccess;
}

size_t texel_bytes(ArrayHandle array) {
  libcuda::ArrayDescription what{};
  if (cuArray3DGetDescriptor_v2(&what, array) != cudaSuccess) return 0;
  // The low bits of a format's number determine its size: 1, 2, 3 and 8, 9, 10; 16 is a half.
  constexpr unsigned kHalf = 16, kFloat = 32;
  const auto format = static_cast<unsigned>(what.format);
  const size_t bytes = format == kHalf    ? 2
                       : format == kFloat ? 4
                       : format < 8       ? size_t{1} << (format - 1)
                                          : size_t{1} << (format - 8);
  return bytes * what.channels;
}

int describe_box(const Copy3dParameters* given, Copy3d& what) {
  if (given == nullptr) return cudaErrorInvalidValue;
  const int checked =
      check_direction(given->to.pointer.pointer, given->from.pointer.pointer, given->kind);
  if (checked != cudaSuccess) return checked;
  what = {};
  set_end_3d(what.from, given->from, reads_host(given->kind), given->kind);
  set_end_3d(what.to, given->to, writes_host(given->kind), given->kind);
  size_t element_bytes = 1;
  if (given->from.array != nullptr) element_bytes = texel_bytes(given->from.array);
  if (given->to.array != nullptr) element_bytes = texel_bytes(given->to.array);
  what.width_bytes = given->extent.width * element_bytes;
  what.height = given->extent.height;
  what.depth = given->extent.depth;
  return element_bytes == 0 ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

int describe_row(void* to, const void* from, size_t bytes, CopyKind kind, Copy3d& what) {
  const int checked = check_direction(to, from, kind);
  if (checked != cudaSuccess) return checked;
  what = {};
  set_end(what.from, from, bytes, reads_host(kind), kind);
  set_end(what.to, to, bytes, writes_host(kind), kind);
  what.width_bytes = bytes;
  what.height = what.depth = 1;
  return cudaSuccess;
}

Copy3dParameters told_box(const Copy3d& what) {
  Copy3dParameters told{};
  told.from = told_end(what.from, what.width_bytes);
  told.to = told_end(what.to, what.width_bytes);
  const ArrayHandle array = told.to.array != nullptr ? told.to.array : told.from.array;
  const size_t element_bytes = array == nullptr ? 1 : std::max<size_t>(1, texel_bytes(array));
  told.extent = {what.width_bytes / element_bytes, what.height, what.depth};
  told.kind = told_kind(what);
  return told;
}

}  // namespace gpuemu::libcudart
