// Implements stream-ordered memory, cuMemAllocAsync and cuMemPool*.
//
// Memory is allocated at once; a free first waits for the stream. A pool only counts: it caches no
// memory.
#include <cstring>

#include "bindings/libcuda/memory.h"
#include "bindings/libcuda/transfer.h"

namespace gpuemu::libcuda {
namespace {

/// CU_MEMPOOL_ATTR_*: flags of 4 bytes up to kLastFlag, then numbers of 8 bytes.
enum PoolAttribute { kFirstAttribute = 1, kLastFlag = 3, kThreshold = 4, kUsed = 7, kLast = 8 };

int allocate_in_order(Stream stream, size_t bytes, const char* call, Address* address) {
  const CallScope scope(call);
  return driver_call([&](Process&) {
    return allocate_memory(place_of(stream), bytes, MemoryKind::FromPool, call, address);
  });
}

uint64_t used_bytes(Process& driver, int device) {
  uint64_t used = 0;
  for (const Allocations::Shared& one : driver.allocations.all()) {
    if (one->kind == MemoryKind::FromPool && one->device == device) used += one->bytes;
  }
  return used;
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
  return allocate_in_order(stream, bytes, "cuMemAllocAsync", address);
}
GPUEMU_PER_THREAD(cuMemAllocAsync, cuMemAllocAsync_ptsz)

GPUEMU_DRIVER_API int cuMemAllocFromPoolAsync(Address* address, size_t bytes, Pool pool,
                                              Stream stream) {
  return with_pool(pool, [&](Process&, PoolState&) {
    return allocate_in_order(stream, bytes, "cuMemAllocFromPoolAsync", address);
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
    constexpr int kOfDevice = 1;
    if (pool == nullptr || properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (properties->handle_types != 0 || properties->location.type != kOfDevice) {
      return CUDA_ERROR_NOT_SUPPORTED;
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

GPUEMU_DRIVER_API int cuMemPoolSetAttribute(Pool pool, int attribute, void* value) {
  return with_pool(pool, [&](Process&, PoolState& state) -> int {
    if (value == nullptr || attribute < kFirstAttribute || attribute > kLast) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    uint64_t set = 0;
    std::memcpy(&set, value, attribute <= kLastFlag ? sizeof(int) : sizeof set);
    state.attributes[static_cast<size_t>(attribute)] = set;
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemPoolGetAttribute(Pool pool, int attribute, void* value) {
  return with_pool(pool, [&](Process& driver, PoolState& state) -> int {
    if (value == nullptr || attribute < kFirstAttribute || attribute > kLast) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const uint64_t known = attribute > kThreshold
                               ? used_bytes(driver, state.device)
                               : state.attributes[static_cast<size_t>(attribute)].load();
    std::memcpy(value, &known, attribute <= kLastFlag ? sizeof(int) : sizeof known);
    return CUDA_SUCCESS;
  });
}

/// Does nothing: a pool caches no memory.
GPUEMU_DRIVER_API int cuMemPoolTrimTo(Pool pool, size_t) {
  return with_pool(pool, [](Process&, PoolState&) -> int { return CUDA_SUCCESS; });
}

GPUEMU_DRIVER_API int cuMemPoolSetAccess(Pool pool, const AccessDescription* all, size_t count) {
  return with_pool(pool, [&](Process&, PoolState& state) -> int {
    constexpr int kReadWrite = 3;
    for (size_t i = 0; i < count; ++i) {
      if (all == nullptr) return CUDA_ERROR_INVALID_VALUE;
      if (all[i].location.id != state.device) return CUDA_ERROR_INVALID_DEVICE;
      if (all[i].flags != kReadWrite) return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

GPUEMU_DRIVER_API int cuMemPoolGetAccess(int* flags, Pool pool, const Location* location) {
  return with_pool(pool, [&](Process&, PoolState& state) -> int {
    constexpr int kReadWrite = 3;
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = location->id == state.device ? kReadWrite : 0;
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

}  // namespace gpuemu::libcuda
