// Implements cuMemcpy* and cuMemset*.
#include "bindings/libcuda/memory_calls/copies.h"
#include "bindings/libcuda/process.h"

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
    return copy(place, any_end(to), any_end(from), bytes, transfer);
  });
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
  std::vector<TouchedRange> ranges;
  if ((driver.races.is_on() || transfer.told != nullptr) && box.width_bytes != 0) {
    for (uint64_t z = 0; z < box.depth; ++z) {
      for (uint64_t y = 0; y < box.height; ++y) {
        add_ranges(driver, to.row(y, z), from.row(y, z), box.width_bytes, ranges);
      }
    }
    if (transfer.told != nullptr) {
      *transfer.told = std::move(ranges);
      return CUDA_SUCCESS;
    }
    note_transfer(driver, place, transfer, ranges);
  }
  for (uint64_t z = 0; z < box.depth; ++z) {
    for (uint64_t y = 0; y < box.height; ++y) {
      const int code = copy(place, to.row(y, z), from.row(y, z), box.width_bytes, transfer);
      if (code != CUDA_SUCCESS) return code;
    }
  }
  finish_if_shared(driver, place, ranges);
  return CUDA_SUCCESS;
}

/// Finds the rows of one end of a copy.
int rows_of(const Copy3d::End& end, const Box& box, Rows& rows) {
  if (end.lod != 0) return CUDA_ERROR_INVALID_VALUE;
  rows.pitch = end.pitch == 0 ? box.width_bytes : end.pitch;
  rows.slice = rows.pitch * (end.height == 0 ? box.height : end.height);
  switch (end.type) {
    case MemoryType::Host:
      rows.begin = host_end(end.host);
      break;
    case MemoryType::Device:
      rows.begin = device_end(end.device);
      break;
    case MemoryType::Unified:
      rows.begin = any_end(end.device);
      break;
    case MemoryType::Array: {
      const auto array = process()->arrays.find(end.array);
      if (array == nullptr) return CUDA_ERROR_INVALID_HANDLE;
      const auto inside = [](uint64_t at, uint64_t count, uint64_t size) {
        return at <= size && count <= size - at;
      };
      const bool fits = inside(end.x_bytes, box.width_bytes, array->row_bytes()) &&
                        inside(end.y, box.height, array->rows()) &&
                        inside(end.z, box.depth, array->planes());
      if (!fits) return CUDA_ERROR_INVALID_VALUE;
      rows.begin = device_end(array->address);
      rows.pitch = array->pitch_bytes;
      rows.slice = array->slice_bytes();
      break;
    }
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
  if (rows.pitch < box.width_bytes) return CUDA_ERROR_INVALID_VALUE;
  rows.begin.address += end.z * rows.slice + end.y * rows.pitch + end.x_bytes;
  return CUDA_SUCCESS;
}

Copy3d::End end_3d(const Copy2d::End& given) {
  Copy3d::End end{};
  end.x_bytes = given.x_bytes;
  end.y = given.y;
  end.type = given.type;
  end.host = given.host;
  end.device = given.device;
  end.array = given.array;
  end.pitch = given.pitch;
  return end;
}

int call_copy_3d(const Copy3d* what, Stream stream, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process&) -> int {
    const Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    return what == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_VALUE)
                           : copy_3d(place, *what, transfer);
  });
}

int copy_2d(const Copy2d* given, Stream stream, Transfer transfer) {
  Copy3d what{};
  if (given != nullptr) {
    what.from = end_3d(given->from);
    what.to = end_3d(given->to);
    what.width_bytes = given->width_bytes;
    what.height = given->height;
    what.depth = 1;
  }
  return call_copy_3d(given == nullptr ? nullptr : &what, stream, transfer);
}

int copy_3d_peer(const Copy3d* what, Stream stream, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process& driver) -> int {
    if (what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto to = driver.contexts.find(static_cast<Context>(what->to.context));
    const auto from = driver.contexts.find(static_cast<Context>(what->from.context));
    if (to == nullptr || from == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return call_copy_3d(what, stream, transfer);
  });
}

/// Copies between contexts; the addresses determine the devices.
int copy_peer(Stream stream, Address to, Context to_context, Address from, Context from_context,
              size_t bytes, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process& driver) -> int {
    const bool exist = driver.contexts.find(to_context) != nullptr &&
                       driver.contexts.find(from_context) != nullptr;
    if (!exist) return CUDA_ERROR_INVALID_CONTEXT;
    return copy(place_of(stream), device_end(to), device_end(from), bytes, transfer);
  });
}

int fill_linear(Stream stream, Address address, unsigned value, unsigned bytes, size_t count,
                Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call(
      [&](Process&) { return fill(place_of(stream), address, value, bytes, count, transfer); });
}

int call_fill_2d(Stream stream, const FillNode& what, Transfer transfer) {
  const CallScope scope(transfer.call);
  return driver_call([&](Process&) -> int {
    const Place place = place_of(stream);
    return place.code != CUDA_SUCCESS ? place.code : fill_2d(place, what, transfer);
  });
}

}  // namespace

int copy_3d(const Place& place, const Copy3d& what, Transfer transfer) {
  const Box box{what.width_bytes, what.height, what.depth};
  Rows to, from;
  if (const int code = rows_of(what.to, box, to); code != CUDA_SUCCESS) return code;
  if (const int code = rows_of(what.from, box, from); code != CUDA_SUCCESS) return code;
  if (is_captured(place) && !transfer.waits) {
    return capture_work(place, CopyWork{what, place.context}, transfer.call);
  }
  return copy_box(place, to, from, box, transfer);
}

int check_copy_3d(const Copy3d& what) {
  const Box box{what.width_bytes, what.height, what.depth};
  Rows rows;
  const int code = rows_of(what.to, box, rows);
  return code == CUDA_SUCCESS ? rows_of(what.from, box, rows) : code;
}

int fill_2d(const Place& place, const FillNode& what, Transfer transfer) {
  const size_t row_bytes = what.width * what.element_bytes;
  if (what.height > 1 && what.pitch < row_bytes) return CUDA_ERROR_INVALID_VALUE;
  if (is_captured(place) && !transfer.waits) {
    return capture_work(place, FillWork{what, place.context}, transfer.call);
  }
  Process& driver = *process();
  transfer.is_part = true;
  std::vector<TouchedRange> ranges;
  if (driver.races.is_on() || transfer.told != nullptr) {
    for (size_t y = 0; y < what.height; ++y) {
      ranges.push_back({what.address + y * what.pitch, row_bytes, Touch::Write});
    }
    if (transfer.told != nullptr) {
      *transfer.told = std::move(ranges);
      return CUDA_SUCCESS;
    }
    note_transfer(driver, place, transfer, ranges);
  }
  for (size_t y = 0; y < what.height; ++y) {
    const int code = fill(place, what.address + y * what.pitch, what.value, what.element_bytes,
                          what.width, transfer);
    if (code != CUDA_SUCCESS) return code;
  }
  finish_if_shared(driver, place, ranges);
  return CUDA_SUCCESS;
}

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
    return call_fill_2d(nullptr, {address, pitch, value, bytes, width, height},             \
                        {"cuMemset" #name, true});                                          \
  }                                                                                         \
  GPUEMU_DRIVER_API int cuMemset##name##Async(Address address, size_t pitch, type value,    \
                                              size_t width, size_t height, Stream stream) { \
    return call_fill_2d(stream, {address, pitch, value, bytes, width, height},              \
                        {"cuMemset" #name "Async", false});                                 \
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
  return call_copy_3d(what, nullptr, {"cuMemcpy3D", true});
}
GPUEMU_PER_THREAD(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds)

GPUEMU_DRIVER_API int cuMemcpy3DAsync_v2(const Copy3d* what, Stream stream) {
  return call_copy_3d(what, stream, {"cuMemcpy3DAsync", false});
}
GPUEMU_PER_THREAD(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz)

}  // namespace gpuemu::libcuda
