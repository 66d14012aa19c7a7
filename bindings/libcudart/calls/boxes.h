// Translates descriptions of copies between the runtime's form and the driver's.
#pragma once

#include <cstddef>

#include "bindings/libcudart/abi.h"

namespace gpuemu::libcudart {

/// Returns the error of a copy whose direction is unknown or does not fit its ends.
int check_direction(const void* to, const void* from, CopyKind kind);
inline bool reads_host(CopyKind kind) {
  return kind == CopyKind::HostToHost || kind == CopyKind::HostToDevice;
}
inline bool writes_host(CopyKind kind) {
  return kind == CopyKind::HostToHost || kind == CopyKind::DeviceToHost;
}

/// Describes one end of a copy of rows.
template <typename End>
void set_end(End& end, const void* pointer, size_t pitch, bool of_host, CopyKind kind) {
  end.pitch = pitch;
  if (of_host && kind != CopyKind::Default) {
    end.type = libcuda::MemoryType::Host;
    end.host = pointer;
    return;
  }
  end.type = kind == CopyKind::Default ? libcuda::MemoryType::Unified : libcuda::MemoryType::Device;
  end.device = reinterpret_cast<Address>(pointer);
}

/// Returns the bytes of an array's texel; 0 if the handle is not an array.
size_t texel_bytes(ArrayHandle array);
/// Describes the copy for the driver; returns cudaSuccess or an error.
int describe_box(const Copy3dParameters* given, libcuda::Copy3d& what);
/// Describes a copy of consecutive bytes.
int describe_row(void* to, const void* from, size_t bytes, CopyKind kind, libcuda::Copy3d& what);
/// Describes a copy in the form of the runtime API.
Copy3dParameters told_box(const libcuda::Copy3d& what);

}  // namespace gpuemu::libcudart
