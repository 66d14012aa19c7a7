// Implements cuMem* for device, pinned, registered and managed memory, and cuPointer*.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "bindings/libcuda/address_owner.h"
#include "bindings/libcuda/memory/memory.h"
#include "bindings/libcuda/memory/ranges.h"
#include "bindings/libcuda/memory/reach.h"

namespace gpuemu::libcuda {
namespace {

constexpr unsigned kHostFlags = 0x7, kRegisterFlags = 0xf;

int make_host(void** memory, size_t bytes, unsigned flags, const char* call) {
  const CallScope scope(call);
  return driver_call([&](Process&) {
    return allocate_host(current_place(), bytes, MemoryKind::Pinned, flags, call, memory);
  });
}

int free_host(void* memory, FreedBy by, int otherwise, const char* call) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    if (const int refused = refuse_unsafe(driver); refused != CUDA_SUCCESS) return refused;
    const auto address = reinterpret_cast<uint64_t>(memory);
    const int code = free_memory(driver, address, by, call);
    return code == CUDA_ERROR_INVALID_VALUE ? otherwise : code;
  });
}

/// Writes a CU_POINTER_ATTRIBUTE_* to `data`; `what` is the allocation, or null. Returns false for
/// an attribute that is unknown or not supported.
bool pointer_attribute(int attribute, uint64_t address, const Allocation* what, void* data) {
  struct Value {
    size_t bytes;
    uint64_t value;
  };
  constexpr size_t kInt = sizeof(unsigned), kLong = sizeof(uint64_t);
  constexpr uint64_t kReadWrite = 3, kNoDevice = ~uint64_t{1};  // As an int, -2.
  const bool exists = what != nullptr;
  const bool is_managed = exists && what->kind == MemoryKind::Managed;
  const bool is_host = exists && gpuemu::libcuda::is_host(what->kind);
  const auto type = is_host && !is_managed ? MemoryType::Host : MemoryType::Device;
  const uint64_t begin = exists ? what->address : 0, bytes = exists ? what->bytes : 0,
                 number = exists ? what->number : 0;
  const Value values[] = {
      {0, 0},
      {kLong, exists ? reinterpret_cast<uint64_t>(what->context) : 0},   // CONTEXT
      {kInt, exists ? static_cast<uint64_t>(type) : 0},                  // MEMORY_TYPE
      {kLong, exists ? address : 0},                                     // DEVICE_POINTER
      {kLong, is_host ? address : 0},                                    // HOST_POINTER
      {0, 0},                                                            // P2P_TOKENS
      {kInt, 0},                                                         // SYNC_MEMOPS
      {kLong, number},                                                   // BUFFER_ID
      {kInt, is_managed},                                                // IS_MANAGED
      {kInt, exists ? static_cast<uint64_t>(what->device) : kNoDevice},  // DEVICE_ORDINAL
      {kInt, 0},                                                         // LEGACY_CUDA_IPC_CAPABLE
      {kLong, begin},                                                    // RANGE_START_ADDR
      {kLong, bytes},                                                    // RANGE_SIZE
      {kInt, exists},                                                    // MAPPED
      {kLong, 0},                                                        // ALLOWED_HANDLE_TYPES
      {kInt, 0},                                                     // IS_GPU_DIRECT_RDMA_CAPABLE
      {kInt, exists ? kReadWrite : 0},                               // ACCESS_FLAGS
      {kLong, exists ? reinterpret_cast<uint64_t>(what->pool) : 0},  // MEMPOOL_HANDLE
      {kLong, bytes},                                                // MAPPING_SIZE
      {kLong, begin},                                                // MAPPING_BASE_ADDR
      {kLong, number},                                               // MEMORY_BLOCK_ID
      {kInt, 0}};                                                    // IS_HW_DECOMPRESS_CAPABLE
  if (attribute < 0 || static_cast<size_t>(attribute) >= std::size(values)) return false;
  const Value& found = values[attribute];
  std::memcpy(data, &found.value, found.bytes);  // Little-endian: the low bytes come first.
  return found.bytes != 0;
}

}  // namespace

GPUEMU_DRIVER_API int cuMemGetInfo_v2(size_t* free, size_t* total) {
  return driver_call([&](Process&) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    auto memory = place.slot->device->memory();
    if (!memory) return code_of(memory.error());
    if (free != nullptr) *free = memory->free_bytes;
    if (total != nullptr) *total = memory->total_bytes;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemAlloc_v2(Address* address, size_t bytes) {
  return driver_call([&](Process&) {
    return allocate_memory(current_place(), bytes, MemoryKind::Device, "cuMemAlloc", address);
  });
}

GPUEMU_DRIVER_API int cuMemAllocPitch_v2(Address* address, size_t* pitch, size_t width_bytes,
                                         size_t height, unsigned element_bytes) {
  return driver_call([&](Process&) -> int {
    constexpr size_t kPitch = 512;
    const bool fits = element_bytes == 4 || element_bytes == 8 || element_bytes == 16;
    if (pitch == nullptr || !fits || width_bytes == 0 || height == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *pitch = (width_bytes + kPitch - 1) / kPitch * kPitch;
    if (height > ~size_t{0} / *pitch) return CUDA_ERROR_OUT_OF_MEMORY;
    return allocate_memory(current_place(), *pitch * height, MemoryKind::Device, "cuMemAllocPitch",
                           address);
  });
}

GPUEMU_DRIVER_API int cuMemFree_v2(Address address) {
  return driver_call([&](Process& driver) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    if (address == 0) return CUDA_SUCCESS;
    if (const int code = refuse_unsafe(driver); code != CUDA_SUCCESS) return code;
    return free_memory(driver, address, FreedBy::Free, "cuMemFree");
  });
}

GPUEMU_DRIVER_API int cuMemGetAddressRange_v2(Address* base, size_t* bytes, Address address) {
  return driver_call([&](Process& driver) -> int {
    const auto what = driver.allocations.holding(address);
    if (what == nullptr) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = what->address;
    if (bytes != nullptr) *bytes = what->bytes;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemAllocHost_v2(void** memory, size_t bytes) {
  return make_host(memory, bytes, 0, "cuMemAllocHost");
}

GPUEMU_DRIVER_API int cuMemAllocHost(void** memory, unsigned bytes) {
  return make_host(memory, bytes, 0, "cuMemAllocHost");
}

GPUEMU_DRIVER_API int cuMemHostAlloc(void** memory, size_t bytes, unsigned flags) {
  if ((flags & ~kHostFlags) != 0) return wrong_arguments(CUDA_ERROR_INVALID_VALUE);
  return make_host(memory, bytes, flags, "cuMemHostAlloc");
}

GPUEMU_DRIVER_API int cuMemFreeHost(void* memory) {
  return free_host(memory, FreedBy::FreeHost, CUDA_ERROR_INVALID_VALUE, "cuMemFreeHost");
}

GPUEMU_DRIVER_API int cuMemHostGetDevicePointer_v2(Address* address, void* memory, unsigned flags) {
  return driver_call([&](Process& driver) -> int {
    const auto at = reinterpret_cast<uint64_t>(memory);
    const auto what = driver.allocations.holding(at);
    const bool fits = what != nullptr && what->kind != MemoryKind::Device;
    if (address == nullptr || flags != 0 || !fits) return CUDA_ERROR_INVALID_VALUE;
    *address = at;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemHostGetFlags(unsigned* flags, void* memory) {
  return driver_call([&](Process& driver) -> int {
    const auto what = driver.allocations.at(reinterpret_cast<uint64_t>(memory));
    if (flags == nullptr || what == nullptr || what->kind != MemoryKind::Pinned) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    constexpr unsigned kDeviceMap = 2;
    *flags = what->flags | kDeviceMap;  // Devices can access all pinned memory.
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned flags) {
  return driver_call([&](Process& driver) -> int {
    const Place place = current_place();
    if (place.code != CUDA_SUCCESS) return place.code;
    if (memory == nullptr || bytes == 0 || (flags & ~kRegisterFlags) != 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (const int code = refuse_unsafe(driver); code != CUDA_SUCCESS) return code;
    const auto at = reinterpret_cast<uint64_t>(memory);
    if (driver.allocations.holding(at) != nullptr ||
        driver.allocations.holding(at + bytes - 1) != nullptr) {
      return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    }
    Allocation made;
    made.address = at;
    made.bytes = bytes;
    made.kind = MemoryKind::Registered;
    made.context = place.context;
    made.device = place.device;
    made.flags = flags;
    made.number = driver.allocations.next_number();
    made.name = "registered memory " + std::to_string(made.number);
    made.is_private = is_private_memory(at, bytes);
    made.made = call_site("cuMemHostRegister");
    const Status adopted = adopt_everywhere(driver, at, bytes, made.name);
    if (!adopted) return code_of(adopted);
    apply_ranges(driver, made);
    const bool is_watched = made.is_private;
    driver.allocations.add(std::move(made));
    if (is_watched) driver.races.follow_host();
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemHostRegister(void* memory, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(memory, bytes, flags);
}

GPUEMU_DRIVER_API int cuMemHostUnregister(void* memory) {
  return free_host(memory, FreedBy::Unregister, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
                   "cuMemHostUnregister");
}

GPUEMU_DRIVER_API int cuMemAllocManaged(Address* address, size_t bytes, unsigned flags) {
  return driver_call([&](Process&) -> int {
    constexpr unsigned kGlobal = 1, kHost = 2;
    if (address == nullptr || (flags != kGlobal && flags != kHost)) return CUDA_ERROR_INVALID_VALUE;
    void* memory = nullptr;
    const int code = allocate_host(current_place(), bytes, MemoryKind::Managed, flags,
                                   "cuMemAllocManaged", &memory);
    if (code == CUDA_SUCCESS) *address = reinterpret_cast<uint64_t>(memory);
    return code;
  });
}

GPUEMU_DRIVER_API int cuPointerGetAttribute(void* data, int attribute, Address address) {
  return driver_call([&](Process& driver) -> int {
    const auto what = driver.allocations.holding(address);
    if (data == nullptr || what == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return pointer_attribute(attribute, address, what.get(), data) ? CUDA_SUCCESS
                                                                   : CUDA_ERROR_INVALID_VALUE;
  });
}

GPUEMU_DRIVER_API int cuPointerGetAttributes(unsigned count, const int* attributes, void** data,
                                             Address address) {
  return driver_call([&](Process& driver) -> int {
    if (attributes == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto what = driver.allocations.holding(address);
    for (unsigned i = 0; i < count; ++i) {
      const bool known =
          data[i] != nullptr && pointer_attribute(attributes[i], address, what.get(), data[i]);
      if (!known) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuPointerSetAttribute(const void* value, int attribute, Address address) {
  return driver_call([&](Process& driver) -> int {
    constexpr int kSyncMemops = 6;  // No effect: copies here are already synchronous enough.
    const bool known = value != nullptr && driver.allocations.holding(address) != nullptr;
    return known && attribute == kSyncMemops ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace gpuemu::libcuda
