// Implements cuMemcpy* and cuMemset*.
#include "bindings/libcuda/calls/call_names.h"
#include "bindings/libcuda/transfer.h"

namespace gpuemu::libcuda {
namespace {

int copy_linear(Stream stream, End to, End from, size_t bytes, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process&) { return copy(place_of(stream), to, from, bytes, transfer); });
}

int copy_unified(Stream stream, Address to, Address from, size_t bytes, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process&) -> int {
    const Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    return copy(place, any_end(place, to), any_end(place, from), bytes, transfer);
  });
}

/// Finds where one end of a 2D or 3D copy starts. Returns false for CUDA arrays, which are not
/// supported.
template <typename Description>
bool begin_of(const Place& place, const Description& end, End& begin) {
  switch (end.type) {
    case MemoryType::Host:
      begin = host_end(end.host);
      return true;
    case MemoryType::Device:
      begin = device_end(end.device);
      return true;
    case MemoryType::Unified:
      begin = any_end(place, end.device);
      return true;
    case MemoryType::Array:
      return false;
  }
  return false;
}

struct Rows {
  End begin;
  uint64_t pitch = 0, slice = 0;  ///< Bytes between the starts of two rows, and of two planes.
  End row(uint64_t y, uint64_t z) const {
    return {begin.of_host, begin.address + z * slice + y * pitch};
  }
};

struct Box {
  uint64_t width_bytes = 0, height = 0, depth = 0;
};

int copy_box(const Place& place, const Rows& to, const Rows& from, const Box& box,
             Transfer transfer) {
  Process& driver = *process();
  transfer.is_part = true;
  if (driver.races.is_on() && box.width_bytes != 0) {
    std::vector<TouchedRange> ranges;
    for (uint64_t z = 0; z < box.depth; ++z) {
      for (uint64_t y = 0; y < box.height; ++y) {
        add_ranges(driver, to.row(y, z), from.row(y, z), box.width_bytes, ranges);
      }
    }
    note_transfer(driver, place, transfer, ranges);
  }
  for (uint64_t z = 0; z < box.depth; ++z) {
    for (uint64_t y = 0; y < box.height; ++y) {
      const int code = copy(place, to.row(y, z), from.row(y, z), box.width_bytes, transfer);
      if (code != CUDA_SUCCESS) return code;
    }
  }
  return CUDA_SUCCESS;
}

int copy_2d(const Copy2d* what, Stream stream, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process&) -> int {
    const Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Box box{what->width_bytes, what->height, 1};
    const auto rows_of = [&](const Copy2d::End& end, Rows& rows) {
      if (!begin_of(place, end, rows.begin)) return static_cast<int>(CUDA_ERROR_NOT_SUPPORTED);
      rows.pitch = end.pitch == 0 ? box.width_bytes : end.pitch;
      if (rows.pitch < box.width_bytes) return static_cast<int>(CUDA_ERROR_INVALID_VALUE);
      rows.begin.address += end.y * rows.pitch + end.x_bytes;
      return static_cast<int>(CUDA_SUCCESS);
    };
    Rows to, from;
    if (const int code = rows_of(what->to, to); code != CUDA_SUCCESS) return code;
    if (const int code = rows_of(what->from, from); code != CUDA_SUCCESS) return code;
    return copy_box(place, to, from, box, transfer);
  });
}

int copy_3d(const Copy3d* what, Stream stream, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process&) -> int {
    const Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const Box box{what->width_bytes, what->height, what->depth};
    const auto rows_of = [&](const Copy3d::End& end, Rows& rows) {
      if (!begin_of(place, end, rows.begin)) return static_cast<int>(CUDA_ERROR_NOT_SUPPORTED);
      rows.pitch = end.pitch == 0 ? box.width_bytes : end.pitch;
      rows.slice = rows.pitch * (end.height == 0 ? box.height : end.height);
      if (rows.pitch < box.width_bytes || end.lod != 0) {
        return static_cast<int>(CUDA_ERROR_INVALID_VALUE);
      }
      rows.begin.address += end.z * rows.slice + end.y * rows.pitch + end.x_bytes;
      return static_cast<int>(CUDA_SUCCESS);
    };
    Rows to, from;
    if (const int code = rows_of(what->to, to); code != CUDA_SUCCESS) return code;
    if (const int code = rows_of(what->from, from); code != CUDA_SUCCESS) return code;
    return copy_box(place, to, from, box, transfer);
  });
}

/// Copies within one device; a 3D copy between two devices is not supported.
int copy_3d_peer(const Copy3d* what, Stream stream, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process& driver) -> int {
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto to = driver.contexts.find(static_cast<Context>(what->to.context));
    const auto from = driver.contexts.find(static_cast<Context>(what->from.context));
    if (to == nullptr || from == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return to->device == from->device ? copy_3d(what, stream, transfer)
                                      : unsupported_call("cuMemcpy3DPeer between two devices");
  });
}

/// Copies between contexts. A copy between two devices goes through host memory.
int copy_peer(Stream stream, Address to, Context to_context, Address from, Context from_context,
              size_t bytes, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process& driver) -> int {
    const auto target = driver.contexts.find(to_context);
    const auto source = driver.contexts.find(from_context);
    if (target == nullptr || source == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (target->device == source->device) {
      return copy(place_of(stream), device_end(to), device_end(from), bytes, transfer);
    }
    std::vector<std::byte> between(bytes);
    const auto device = [&](const ContextState& context) -> Device& {
      return *driver.devices[static_cast<size_t>(context.device)]->device;
    };
    const Status down = device(*source).download(between, from);
    if (!down) return code_of(down);
    return code_of(device(*target).upload(to, between));
  });
}

int fill_linear(Stream stream, Address address, unsigned value, unsigned bytes, size_t count,
                Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call(
      [&](Process&) { return fill(place_of(stream), address, value, bytes, count, transfer); });
}

struct Plane {
  Address address;
  size_t pitch, width, height;
};

int fill_2d(Stream stream, const Plane& plane, unsigned value, unsigned bytes, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process& driver) -> int {
    const Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    if (plane.height > 1 && plane.pitch < plane.width * bytes) return CUDA_ERROR_INVALID_VALUE;
    transfer.is_part = true;
    if (driver.races.is_on()) {
      std::vector<TouchedRange> ranges;
      for (size_t y = 0; y < plane.height; ++y) {
        ranges.push_back({plane.address + y * plane.pitch, plane.width * bytes, Touch::Write});
      }
      note_transfer(driver, place, transfer, ranges);
    }
    for (size_t y = 0; y < plane.height; ++y) {
      const int code =
          fill(place, plane.address + y * plane.pitch, value, bytes, plane.width, transfer);
      if (code != CUDA_SUCCESS) return code;
    }
    return place.code;
  });
}

}  // namespace

#define GPUEMU_COPY(name, to_type, to_end, from_type, from_end, suffix)               \
  GPUEMU_DRIVER_API int name##suffix(to_type to, from_type from, size_t bytes) {      \
    return copy_linear(nullptr, to_end, from_end, bytes, {#name, true});              \
  }                                                                                   \
  GPUEMU_DRIVER_API int name##Async##suffix(to_type to, from_type from, size_t bytes, \
                                            Stream stream) {                          \
    return copy_linear(stream, to_end, from_end, bytes, {#name "Async", false});      \
  }                                                                                   \
  GPUEMU_PER_THREAD(name##suffix, name##suffix##_ptds)                                \
  GPUEMU_PER_THREAD(name##Async##suffix, name##Async##suffix##_ptsz)
GPUEMU_COPY(cuMemcpyHtoD, Address, device_end(to), const void*, host_end(from), _v2)
GPUEMU_COPY(cuMemcpyDtoH, void*, host_end(to), Address, device_end(from), _v2)
GPUEMU_COPY(cuMemcpyDtoD, Address, device_end(to), Address, device_end(from), _v2)
#undef GPUEMU_COPY

#define GPUEMU_FILL(name, type, bytes)                                                           \
  GPUEMU_DRIVER_API int cuMemset##name##_v2(Address address, type value, size_t count) {         \
    return fill_linear(nullptr, address, value, bytes, count, {"cuMemset" #name, true});         \
  }                                                                                              \
  GPUEMU_DRIVER_API int cuMemset##name##Async(Address address, type value, size_t count,         \
                                              Stream stream) {                                   \
    return fill_linear(stream, address, value, bytes, count, {"cuMemset" #name "Async", false}); \
  }                                                                                              \
  GPUEMU_PER_THREAD(cuMemset##name##_v2, cuMemset##name##_v2_ptds)                               \
  GPUEMU_PER_THREAD(cuMemset##name##Async, cuMemset##name##Async_ptsz)
GPUEMU_FILL(D8, unsigned char, 1)
GPUEMU_FILL(D16, unsigned short, 2)
GPUEMU_FILL(D32, unsigned, 4)
#undef GPUEMU_FILL

#define GPUEMU_FILL_2D(name, type, bytes)                                                   \
  GPUEMU_DRIVER_API int cuMemset##name##_v2(Address address, size_t pitch, type value,      \
                                            size_t width, size_t height) {                  \
    return fill_2d(nullptr, {address, pitch, width, height}, value, bytes,                  \
                   {"cuMemset" #name, true});                                               \
  }                                                                                         \
  GPUEMU_DRIVER_API int cuMemset##name##Async(Address address, size_t pitch, type value,    \
                                              size_t width, size_t height, Stream stream) { \
    return fill_2d(stream, {address, pitch, width, height}, value, bytes,                   \
                   {"cuMemset" #name "Async", false});                                      \
  }                                                                                         \
  GPUEMU_PER_THREAD(cuMemset##name##_v2, cuMemset##name##_v2_ptds)                          \
  GPUEMU_PER_THREAD(cuMemset##name##Async, cuMemset##name##Async_ptsz)
GPUEMU_FILL_2D(D2D8, unsigned char, 1)
GPUEMU_FILL_2D(D2D16, unsigned short, 2)
GPUEMU_FILL_2D(D2D32, unsigned, 4)
#undef GPUEMU_FILL_2D

GPUEMU_DRIVER_API int cuMemcpy(Address to, Address from, size_t bytes) {
  return copy_unified(nullptr, to, from, bytes, {"cuMemcpy", true});
}
GPUEMU_PER_THREAD(cuMemcpy, cuMemcpy_ptds)

GPUEMU_DRIVER_API int cuMemcpyAsync(Address to, Address from, size_t bytes, Stream stream) {
  return copy_unified(stream, to, from, bytes, {"cuMemcpyAsync", false});
}
GPUEMU_PER_THREAD(cuMemcpyAsync, cuMemcpyAsync_ptsz)

GPUEMU_DRIVER_API int cuMemcpyPeer(Address to, Context to_context, Address from,
                                   Context from_context, size_t bytes) {
  return copy_peer(nullptr, to, to_context, from, from_context, bytes, {"cuMemcpyPeer", true});
}
GPUEMU_PER_THREAD(cuMemcpyPeer, cuMemcpyPeer_ptds)

GPUEMU_DRIVER_API int cuMemcpyPeerAsync(Address to, Context to_context, Address from,
                                        Context from_context, size_t bytes, Stream stream) {
  return copy_peer(stream, to, to_context, from, from_context, bytes, {"cuMemcpyPeerAsync", false});
}
GPUEMU_PER_THREAD(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz)

GPUEMU_DRIVER_API int cuMemcpy3DPeer(const Copy3d* what) {
  return copy_3d_peer(what, nullptr, {"cuMemcpy3DPeer", true});
}
GPUEMU_PER_THREAD(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds)

GPUEMU_DRIVER_API int cuMemcpy3DPeerAsync(const Copy3d* what, Stream stream) {
  return copy_3d_peer(what, stream, {"cuMemcpy3DPeerAsync", false});
}
GPUEMU_PER_THREAD(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz)

GPUEMU_DRIVER_API int cuMemcpy2D_v2(const Copy2d* what) {
  return copy_2d(what, nullptr, {"cuMemcpy2D", true});
}
GPUEMU_PER_THREAD(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds)

GPUEMU_DRIVER_API int cuMemcpy2DUnaligned_v2(const Copy2d* what) {
  return copy_2d(what, nullptr, {"cuMemcpy2DUnaligned", true});
}
GPUEMU_PER_THREAD(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds)

GPUEMU_DRIVER_API int cuMemcpy2DAsync_v2(const Copy2d* what, Stream stream) {
  return copy_2d(what, stream, {"cuMemcpy2DAsync", false});
}
GPUEMU_PER_THREAD(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz)

GPUEMU_DRIVER_API int cuMemcpy3D_v2(const Copy3d* what) {
  return copy_3d(what, nullptr, {"cuMemcpy3D", true});
}
GPUEMU_PER_THREAD(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds)

GPUEMU_DRIVER_API int cuMemcpy3DAsync_v2(const Copy3d* what, Stream stream) {
  return copy_3d(what, stream, {"cuMemcpy3DAsync", false});
}
GPUEMU_PER_THREAD(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz)

}  // namespace gpuemu::libcuda
