// Implements stream-ordered memory, cuMemAllocAsync and cuMemPool*.
//
// Memory is allocated at once; a free first waits for the stream. A pool only counts: it caches no
// memory.
#include <string>

#include <fmt/core.h>

#include "bindings/libcuda/process.h"
#include "bindings/libcuda/reach.h"

namespace gpuemu::libcuda {
namespace {

/// CU_MEMPOOL_ATTR_*: flags of 4 bytes, then numbers of 8 bytes.
enum PoolAttribute {
  kFirstFlag = 1,
  kLastFlag = 3,
  kThreshold,
  kReserved,
  kReservedHigh,
  kUsed,
  kUsedHigh,
};

constexpr int kPoolReadWrite = 3;  ///< CUmemAccess_flags
constexpr int kOfDevice = 1;       ///< CUmemLocationType
constexpr int kPinnedOnPlace = 1;  ///< CUmemAllocationType, CU_MEM_ALLOCATION_TYPE_PINNED

/// A graph has no nodes that allocate.
int refuse_captured(const char* call) {
  const std::string name = fmt::format("{} in a stream that captures", called(call));
  // The second call finds it said already, and only counts.
  say_once(name, name + " is not supported: allocate before the capture begins");
  return unsupported_call(name.c_str());
}

/// Without a pool it is that of the device. The memory is of the pool's device, whichever the
/// stream is of.
int allocate_in_order(Stream stream, size_t bytes, Pool pool, const char* call, Address* address) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    if (is_captured(place)) return refuse_captured(call);
    Pool from = pool;
    if (from == nullptr) {
      const std::lock_guard lock(place.slot->mutex);
      from = place.slot->pool;
    }
    if (const auto state = driver.pools.find(from)) {
      place.device = state->device;
      place.slot = driver.device(state->device);
    }
    return allocate_memory(place, bytes, MemoryKind::FromPool, call, address, from);
  });
}

template <typename Work>
int with_pool(Pool pool, const Work& work, const char* call = __builtin_FUNCTION()) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    const auto state = driver.pools.find(pool);
    return state == nullptr ? static_cast<int>(CUDA_ERROR_INVALID_VALUE) : work(driver, *state);
  });
}

}  // namespace

GPUEMU_DRIVER_API int cuMemAllocAsync(Address* address, size_t bytes, Stream stream) {
  return allocate_in_order(stream, bytes, nullptr, "cuMemAllocAsync", address);
}
GPUEMU_PER_THREAD(cuMemAllocAsync, cuMemAllocAsync_ptsz)

GPUEMU_DRIVER_API int cuMemAllocFromPoolAsync(Address* address, size_t bytes, Pool pool,
                                              Stream stream) {
  return with_pool(pool, [&](Process&, PoolState&) {
    return allocate_in_order(stream, bytes, pool, "cuMemAllocFromPoolAsync", address);
  });
}
GPUEMU_PER_THREAD(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz)

GPUEMU_DRIVER_API int cuMemFreeAsync(Address address, Stream stream) {
  return driver_call([&](Process& driver) -> int {
    const Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    if (is_captured(place)) return refuse_capture(driver, place);
    // Earlier work in the stream may still use the memory; later work must not.
    const Status waited = place.slot->streams->synchronize(place.stream);
    if (!waited && waited.error().code != ErrorCode::Launch) return code_of(waited);
    return free_memory(driver, address, FreedBy::Free, "cuMemFreeAsync");
  });
}
GPUEMU_PER_THREAD(cuMemFreeAsync, cuMemFreeAsync_ptsz)

GPUEMU_DRIVER_API int cuMemPoolCreate(Pool* pool, const PoolProperties* properties) {
  return driver_call([&](Process& driver) -> int {
    if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (properties->handle_types != 0 || properties->location.type != kOfDevice) {
      return unsupported_call("cuMemPoolCreate for other processes or for the host");
    }
    if (driver.device(properties->location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    auto made = std::make_shared<PoolState>();
    made->device = properties->location.id;
    *pool = driver.pools.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemPoolDestroy(Pool pool) {
  return with_pool(pool, [&](Process& driver, PoolState& state) -> int {
    if (state.is_default) return CUDA_ERROR_INVALID_VALUE;
    DeviceSlot& slot = *driver.device(state.device);
    const std::lock_guard lock(slot.mutex);
    if (slot.pool == pool) slot.pool = slot.default_pool;
    driver.pools.remove(pool);
    return CUDA_SUCCESS;
  });
}

/// What was reached at most can be set to 0 alone: it begins anew then.
GPUEMU_DRIVER_API int cuMemPoolSetAttribute(Pool pool, int attribute, void* value) {
  return with_pool(pool, [&](Process&, PoolState& state) -> int {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (attribute >= kFirstFlag && attribute <= kLastFlag) {
      state.flags[static_cast<size_t>(attribute)] = *static_cast<const int*>(value) != 0 ? 1 : 0;
      return CUDA_SUCCESS;
    }
    if (attribute < kThreshold || attribute > kUsedHigh) return CUDA_ERROR_INVALID_VALUE;
    const uint64_t set = *static_cast<const uint64_t*>(value);
    if (attribute == kThreshold) {
      state.release_threshold = set;
    } else if (attribute == kReservedHigh && set == 0) {
      state.reserved_high = state.used.load();
    } else if (attribute == kUsedHigh && set == 0) {
      state.used_high = state.used.load();
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemPoolGetAttribute(Pool pool, int attribute, void* value) {
  return with_pool(pool, [&](Process&, PoolState& state) -> int {
    if (value == nullptr || attribute < kFirstFlag || attribute > kUsedHigh) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (attribute <= kLastFlag) {
      *static_cast<int*>(value) = state.flags[static_cast<size_t>(attribute)];
      return CUDA_SUCCESS;
    }
    const std::atomic<uint64_t>& known = attribute == kThreshold      ? state.release_threshold
                                         : attribute == kReservedHigh ? state.reserved_high
                                         : attribute == kUsedHigh     ? state.used_high
                                                                      : state.used;
    *static_cast<uint64_t*>(value) = known;
    return CUDA_SUCCESS;
  });
}

/// Does nothing: a pool caches no memory.
GPUEMU_DRIVER_API int cuMemPoolTrimTo(Pool pool, size_t) {
  return with_pool(pool, [](Process&, PoolState&) -> int { return CUDA_SUCCESS; });
}

/// Access by the pool's own device cannot be taken away.
GPUEMU_DRIVER_API int cuMemPoolSetAccess(Pool pool, const AccessDescription* all, size_t count) {
  return with_pool(pool, [&](Process& driver, PoolState& state) -> int {
    for (size_t i = 0; i < count; ++i) {
      if (all == nullptr) return CUDA_ERROR_INVALID_VALUE;
      const int device = all[i].location.id, flags = all[i].flags;
      if (all[i].location.type != kOfDevice) return CUDA_ERROR_INVALID_VALUE;
      if (driver.device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
      const bool is_known = flags == kPoolReadWrite || (flags == 0 && device != state.device);
      if (!is_known) return CUDA_ERROR_INVALID_VALUE;
      if (device == state.device) continue;
      if (flags == 0) close_pool(driver, pool, state, device);
      if (flags == 0) continue;
      const int code = open_pool(driver, pool, state, device);
      if (code != CUDA_SUCCESS) return code;
    }
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemPoolGetAccess(int* flags, Pool pool, const Location* location) {
  return with_pool(pool, [&](Process& driver, PoolState& state) -> int {
    if (flags == nullptr || location == nullptr || location->type != kOfDevice) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (driver.device(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const bool is_open =
        location->id == state.device || (state.peers >> location->id & uint32_t{1}) != 0;
    *flags = is_open ? kPoolReadWrite : 0;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceGetDefaultMemPool(Pool* pool, int device) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = slot.default_pool;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceGetMemPool(Pool* pool, int device) {
  return with_device(device, [&](Process&, DeviceSlot& slot) -> int {
    if (pool == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(slot.mutex);
    *pool = slot.pool;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuDeviceSetMemPool(int device, Pool pool) {
  return with_device(device, [&](Process& driver, DeviceSlot& slot) -> int {
    const auto state = driver.pools.find(pool);
    if (state == nullptr || state->device != device) return CUDA_ERROR_INVALID_VALUE;
    const std::lock_guard lock(slot.mutex);
    slot.pool = pool;
    return CUDA_SUCCESS;
  });
}

// The same of a location: only devices have pools.
GPUEMU_DRIVER_API int cuMemGetDefaultMemPool(Pool* pool, const Location* location, int type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != kOfDevice || type != kPinnedOnPlace) {
    return unsupported_call("cuMemGetDefaultMemPool of the host or of managed memory");
  }
  return cuDeviceGetDefaultMemPool(pool, location->id);
}

GPUEMU_DRIVER_API int cuMemGetMemPool(Pool* pool, const Location* location, int type) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != kOfDevice || type != kPinnedOnPlace) {
    return unsupported_call("cuMemGetMemPool of the host or of managed memory");
  }
  return cuDeviceGetMemPool(pool, location->id);
}

GPUEMU_DRIVER_API int cuMemSetMemPool(const Location* location, int type, Pool pool) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != kOfDevice || type != kPinnedOnPlace) {
    return unsupported_call("cuMemSetMemPool of the host or of managed memory");
  }
  return cuDeviceSetMemPool(location->id, pool);
}

}  // namespace gpuemu::libcuda
