// Implements stream-ordered memory, cuMemAllocAsync and cuMemPool*.
//
// Memory is allocated immediately; a free first waits for the stream. A pool only counts memory and
// caches none.
#include <chrono>
#include <map>
#include <optional>

#include "bindings/libcuda/memory/graph_memory.h"
#include "bindings/libcuda/memory/memory.h"
#include "bindings/libcuda/memory/reach.h"
#include "bindings/libcuda/process.h"

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
/// CUmemLocationType
constexpr int kNoPlace = 0, kOfDevice = 1, kOfHost = 2, kOfHostNode = 3;
constexpr int kPinnedOnPlace = 1, kManaged = 2;  ///< CUmemAllocationType

/// Returns the kind of host memory for this description; nothing if its members do not fit.
std::optional<PoolHost> host_of(const Location& location, int allocation_type) {
  const bool is_host = location.type == kOfHost || location.type == kOfHostNode;
  if (allocation_type == kManaged && (is_host || location.type == kNoPlace)) {
    return PoolHost::Managed;
  }
  if (allocation_type == kManaged && location.type == kOfDevice) return PoolHost::Managed;
  if (allocation_type != kPinnedOnPlace) return std::nullopt;
  if (location.type == kOfDevice) return PoolHost::None;
  return is_host ? std::optional(PoolHost::Pinned) : std::nullopt;
}

Pool make_pool(Process& driver, int device, PoolHost host, bool is_default) {
  auto made = std::make_shared<PoolState>();
  made->device = device;
  made->host = host;
  made->is_default = is_default;
  return driver.pools.add(std::move(made));
}

/// The default pools of host memory.
struct HostPools {
  std::mutex mutex;
  std::map<PoolHost, Pool> defaults, current;
};
HostPools& host_pools() {
  static auto* const kAll = new HostPools;
  return *kAll;
}

Pool default_host_pool(Process& driver, PoolHost host) {
  Pool& known = host_pools().defaults[host];
  if (known == nullptr) known = make_pool(driver, 0, host, true);
  return known;
}

/// Allocates from the device's pool if none is given. The memory is on the pool's device, even if
/// the stream is on another one.
int allocate_in_order(Stream stream, size_t bytes, Pool pool, const char* call, Address* address) {
  const CallScope scope(call);
  return driver_call([&](Process& driver) -> int {
    Place place = place_of(stream);
    if (place.code != CUDA_SUCCESS) return place.code;
    if (is_captured(place)) return capture_allocation(driver, place, bytes, pool, call, address);
    const Line issued_in = line_of(place);
    Pool from = pool;
    if (from == nullptr) {
      const std::lock_guard lock(place.slot->mutex);
      from = place.slot->pool;
    }
    const auto state = driver.pools.find(from);
    if (state != nullptr) {
      place.device = state->device;
      place.slot = driver.device(state->device);
    }
    int code = CUDA_SUCCESS;
    if (state != nullptr && state->host != PoolHost::None) {
      constexpr unsigned kAttachGlobal = 1;
      const bool is_managed = state->host == PoolHost::Managed;
      const auto kind = is_managed ? MemoryKind::Managed : MemoryKind::Pinned;
      code = allocate_host(place, bytes, kind, is_managed ? kAttachGlobal : 0, call,
                           reinterpret_cast<void**>(address), from);
    } else {
      code = allocate_memory(place, bytes, MemoryKind::FromPool, call, address, from);
    }
    // Work of other streams must come after the allocation. A pool may lie on another device.
    if (code == CUDA_SUCCESS) {
      driver.races.transfer(issued_in, call, {{*address, bytes, Touch::Write}});
    }
    return code;
  });
}

/// Notes the end of the memory's life as work of the stream, which work of others must precede.
void note_free(Process& driver, const Place& place, Address address, const char* call) {
  const auto what = driver.allocations.at(address);
  if (what == nullptr || what->is_variable || freed_by(*what) != FreedBy::Free) return;
  driver.races.transfer(line_of(place), call, {{what->address, what->bytes, Touch::Write}});
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
    if (is_captured(place)) return capture_free(place, address, "cuMemFreeAsync");
    // A launch of another stream must end before it is known which bytes it used. The wait has a
    // limit, because the launch may wait for this thread; its later accesses use freed memory.
    constexpr std::chrono::milliseconds kOthersMax{100};
    if (driver.races.compares_streams()) driver.races.wait_for_launches(kOthersMax);
    // Earlier work in the stream may still use the memory; later work must not.
    const Status waited = place.slot->streams->synchronize(place.stream);
    if (!waited && waited.error().code != ErrorCode::Launch) return code_of(waited);
    note_free(driver, place, address, "cuMemFreeAsync");
    return free_memory(driver, address, FreedBy::Free, "cuMemFreeAsync");
  });
}
GPUEMU_PER_THREAD(cuMemFreeAsync, cuMemFreeAsync_ptsz)

GPUEMU_DRIVER_API int cuMemPoolCreate(Pool* pool, const PoolProperties* properties) {
  return driver_call([&](Process& driver) -> int {
    if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto host = host_of(properties->location, properties->allocation_type);
    if (!host) return CUDA_ERROR_INVALID_VALUE;
    const bool is_of_device = properties->location.type == kOfDevice;
    if (properties->handle_types != 0) {
      if (!is_of_device) return CUDA_ERROR_INVALID_VALUE;
      return unsupported_call("cuMemPoolCreate for other processes");
    }
    const int device = is_of_device ? properties->location.id : 0;
    if (driver.device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *pool = make_pool(driver, device, *host, false);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemPoolDestroy(Pool pool) {
  return with_pool(pool, [&](Process& driver, PoolState& state) -> int {
    if (state.is_default) return CUDA_ERROR_INVALID_VALUE;
    {
      const std::lock_guard lock(host_pools().mutex);
      std::erase_if(host_pools().current, [&](const auto& one) { return one.second == pool; });
    }
    DeviceSlot& slot = *driver.device(state.device);
    const std::lock_guard lock(slot.mutex);
    if (slot.pool == pool) slot.pool = slot.default_pool;
    driver.pools.remove(pool);
    return CUDA_SUCCESS;
  });
}

/// High-water marks can only be reset to 0.
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

/// Access by the pool's own device cannot be revoked.
GPUEMU_DRIVER_API int cuMemPoolSetAccess(Pool pool, const AccessDescription* all, size_t count) {
  return with_pool(pool, [&](Process& driver, PoolState& state) -> int {
    for (size_t i = 0; i < count; ++i) {
      if (all == nullptr) return CUDA_ERROR_INVALID_VALUE;
      const int device = all[i].location.id, flags = all[i].flags;
      if (all[i].location.type != kOfDevice) return CUDA_ERROR_INVALID_VALUE;
      if (driver.device(device) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
      const bool is_of_host = state.host != PoolHost::None;
      const bool is_own = device == state.device && !is_of_host;
      const bool is_known = flags == kPoolReadWrite || (flags == 0 && !is_own);
      if (!is_known) return CUDA_ERROR_INVALID_VALUE;
      if (is_of_host) {  // Every device can access it.
        const uint32_t bit = uint32_t{1} << device;
        if (flags == 0) state.peers &= ~bit;
        if (flags != 0) state.peers |= bit;
        continue;
      }
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
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (location->type == kOfHost || location->type == kOfHostNode) {
      *flags = state.host != PoolHost::None ? kPoolReadWrite : 0;
      return CUDA_SUCCESS;
    }
    if (location->type != kOfDevice) return CUDA_ERROR_INVALID_VALUE;
    if (driver.device(location->id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    const bool is_open = state.host == PoolHost::Managed ||
                         (location->id == state.device && state.host == PoolHost::None) ||
                         (state.peers >> location->id & uint32_t{1}) != 0;
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
    if (state == nullptr || state->device != device || state->host != PoolHost::None) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const std::lock_guard lock(slot.mutex);
    slot.pool = pool;
    return CUDA_SUCCESS;
  });
}

// Takes a location, which may be the host.
GPUEMU_DRIVER_API int cuMemGetDefaultMemPool(Pool* pool, const Location* location, int type) {
  return driver_call([&](Process& driver) -> int {
    if (pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto host = host_of(*location, type);
    if (!host) return CUDA_ERROR_INVALID_VALUE;
    if (*host == PoolHost::None) return cuDeviceGetDefaultMemPool(pool, location->id);
    const std::lock_guard lock(host_pools().mutex);
    *pool = default_host_pool(driver, *host);
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemGetMemPool(Pool* pool, const Location* location, int type) {
  return driver_call([&](Process& driver) -> int {
    if (pool == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto host = host_of(*location, type);
    if (!host) return CUDA_ERROR_INVALID_VALUE;
    if (*host == PoolHost::None) return cuDeviceGetMemPool(pool, location->id);
    const std::lock_guard lock(host_pools().mutex);
    const auto known = host_pools().current.find(*host);
    *pool = known == host_pools().current.end() ? default_host_pool(driver, *host) : known->second;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemSetMemPool(const Location* location, int type, Pool pool) {
  return driver_call([&](Process& driver) -> int {
    if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const auto host = host_of(*location, type);
    const auto state = driver.pools.find(pool);
    if (!host || state == nullptr || state->host != *host) return CUDA_ERROR_INVALID_VALUE;
    if (*host == PoolHost::None) return cuDeviceSetMemPool(location->id, pool);
    const std::lock_guard lock(host_pools().mutex);
    host_pools().current[*host] = pool;
    return CUDA_SUCCESS;
  });
}

}  // namespace gpuemu::libcuda
