// Implements cudaMalloc and its relatives, memory pools and pointer attributes.
#include "bindings/libcudart/runtime.h"

namespace gpuemu::libcudart {
namespace {

constexpr int kAttributeType = 2, kAttributeDevicePointer = 3, kAttributeHostPointer = 4,
              kAttributeIsManaged = 8, kAttributeDevice = 9;
constexpr unsigned kAttachGlobal = 1, kAttachHost = 2;
constexpr int kNoDevice = -2;

Address* address_in(void** pointer) { return reinterpret_cast<Address*>(pointer); }

/// Calls `allocate`; for zero bytes returns null, which is no error.
template <typename Allocate>
int allocate(void** pointer, size_t bytes, const Allocate& call_driver,
             const char* call = __builtin_FUNCTION()) {
  return runtime_call(
      [&]() -> int {
        if (pointer == nullptr) return cudaErrorInvalidValue;
        *pointer = nullptr;
        return bytes == 0 ? cudaSuccess : call_driver();
      },
      call);
}

template <typename Value>
Value attribute(const void* pointer, int which, Value otherwise) {
  Value value{};
  return cuPointerGetAttribute(&value, which, address_of(pointer)) == cudaSuccess ? value
                                                                                  : otherwise;
}

int allocate_pitched(void** pointer, size_t* pitch, size_t width_bytes, size_t height) {
  constexpr unsigned kElementBytes = 4;
  if (pointer == nullptr || pitch == nullptr) return cudaErrorInvalidValue;
  *pointer = nullptr;
  *pitch = 0;
  if (width_bytes == 0 || height == 0) return cudaSuccess;
  return cuMemAllocPitch_v2(address_in(pointer), pitch, width_bytes, height, kElementBytes);
}

}  // namespace

GPUEMU_RUNTIME_API int cudaMalloc(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, [&] { return cuMemAlloc_v2(address_in(pointer), bytes); });
}

GPUEMU_RUNTIME_API int cudaMallocManaged(void** pointer, size_t bytes, unsigned flags) {
  return runtime_call([&]() -> int {
    if (pointer == nullptr || bytes == 0 || (flags != kAttachGlobal && flags != kAttachHost)) {
      return cudaErrorInvalidValue;
    }
    return cuMemAllocManaged(address_in(pointer), bytes, flags);
  });
}

GPUEMU_RUNTIME_API int cudaMallocHost(void** pointer, size_t bytes) {
  return allocate(pointer, bytes, [&] { return cuMemHostAlloc(pointer, bytes, 0); });
}

GPUEMU_RUNTIME_API int cudaHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return allocate(pointer, bytes, [&] { return cuMemHostAlloc(pointer, bytes, flags); });
}

GPUEMU_RUNTIME_API int cudaMallocPitch(void** pointer, size_t* pitch, size_t width_bytes,
                                       size_t height) {
  return runtime_call([&] { return allocate_pitched(pointer, pitch, width_bytes, height); });
}

GPUEMU_RUNTIME_API int cudaMalloc3D(PitchedPointer* pitched, Extent extent) {
  return runtime_call([&]() -> int {
    if (pitched == nullptr) return cudaErrorInvalidValue;
    pitched->width = extent.width;
    pitched->height = extent.height;
    return allocate_pitched(&pitched->pointer, &pitched->pitch, extent.width,
                            extent.height * extent.depth);
  });
}

GPUEMU_RUNTIME_FORWARD(cudaFree, (void* pointer), cuMemFree_v2, (address_of(pointer)))

GPUEMU_RUNTIME_API int cudaFreeHost(void* pointer) {
  return runtime_call(
      [&]() -> int { return pointer == nullptr ? cudaSuccess : cuMemFreeHost(pointer); });
}

GPUEMU_RUNTIME_FORWARD(cudaHostRegister, (void* pointer, size_t bytes, unsigned flags),
                       cuMemHostRegister_v2, (pointer, bytes, flags))
GPUEMU_RUNTIME_FORWARD(cudaHostUnregister, (void* pointer), cuMemHostUnregister, (pointer))
GPUEMU_RUNTIME_FORWARD(cudaHostGetDevicePointer, (void** device, void* pointer, unsigned flags),
                       cuMemHostGetDevicePointer_v2, (address_in(device), pointer, flags))
GPUEMU_RUNTIME_FORWARD(cudaHostGetFlags, (unsigned* flags, void* pointer), cuMemHostGetFlags,
                       (flags, pointer))
GPUEMU_RUNTIME_FORWARD(cudaMemGetInfo, (size_t* free, size_t* total), cuMemGetInfo_v2,
                       (free, total))

GPUEMU_RUNTIME_FORWARD(GPUEMU_LATER(cudaMemPrefetchAsync, 2),
                       (const void* pointer, size_t bytes, libcuda::Location location,
                        unsigned flags, Stream stream),
                       cuMemPrefetchAsync_v2, (address_of(pointer), bytes, location, flags, stream))
GPUEMU_RUNTIME_PER_THREAD(GPUEMU_LATER(cudaMemPrefetchAsync, 2),
                          GPUEMU_LATER_PER_THREAD(cudaMemPrefetchAsync, 2))
GPUEMU_RUNTIME_FORWARD(GPUEMU_LATER(cudaMemAdvise, 2),
                       (const void* pointer, size_t bytes, int advice, libcuda::Location location),
                       cuMemAdvise_v2, (address_of(pointer), bytes, advice, location))
GPUEMU_RUNTIME_FORWARD(cudaMemRangeGetAttribute,
                       (void* data, size_t data_bytes, int attribute, const void* pointer,
                        size_t bytes),
                       cuMemRangeGetAttribute,
                       (data, data_bytes, attribute, address_of(pointer), bytes))
GPUEMU_RUNTIME_FORWARD(cudaMemRangeGetAttributes,
                       (void** data, size_t* data_bytes, int* attributes, size_t count,
                        const void* pointer, size_t bytes),
                       cuMemRangeGetAttributes,
                       (data, data_bytes, attributes, count, address_of(pointer), bytes))

GPUEMU_RUNTIME_API int cudaPointerGetAttributes(PointerAttributes* attributes,
                                                const void* pointer) {
  return runtime_call([&]() -> int {
    if (attributes == nullptr) return cudaErrorInvalidValue;
    const auto type = attribute(pointer, kAttributeType, 0u);
    const bool is_managed = attribute(pointer, kAttributeIsManaged, 0u) != 0;
    *attributes = {};
    attributes->type = is_managed ? MemoryType::Managed : static_cast<MemoryType>(type);
    attributes->device = attribute(pointer, kAttributeDevice, kNoDevice);
    if (type == 0) {
      attributes->host_pointer = const_cast<void*>(pointer);
      return cudaSuccess;
    }
    attributes->device_pointer = attribute<void*>(pointer, kAttributeDevicePointer, nullptr);
    attributes->host_pointer = attribute<void*>(pointer, kAttributeHostPointer, nullptr);
    return cudaSuccess;
  });
}

GPUEMU_RUNTIME_API int cudaMallocAsync(void** pointer, size_t bytes, Stream stream) {
  return allocate(pointer, bytes,
                  [&] { return cuMemAllocAsync(address_in(pointer), bytes, stream); });
}
GPUEMU_RUNTIME_PER_THREAD(cudaMallocAsync, cudaMallocAsync_ptsz)

GPUEMU_RUNTIME_API int cudaMallocFromPoolAsync(void** pointer, size_t bytes, Pool pool,
                                               Stream stream) {
  return allocate(pointer, bytes, [&] {
    return cuMemAllocFromPoolAsync(address_in(pointer), bytes, pool, stream);
  });
}
GPUEMU_RUNTIME_PER_THREAD(cudaMallocFromPoolAsync, cudaMallocFromPoolAsync_ptsz)

GPUEMU_RUNTIME_API int cudaFreeAsync(void* pointer, Stream stream) {
  return runtime_call([&]() -> int {
    return pointer == nullptr ? cudaSuccess : cuMemFreeAsync(address_of(pointer), stream);
  });
}
GPUEMU_RUNTIME_PER_THREAD(cudaFreeAsync, cudaFreeAsync_ptsz)

GPUEMU_RUNTIME_FORWARD(cudaMemPoolCreate, (Pool * pool, const libcuda::PoolProperties* properties),
                       cuMemPoolCreate, (pool, properties))
GPUEMU_RUNTIME_FORWARD(cudaMemPoolDestroy, (Pool pool), cuMemPoolDestroy, (pool))
GPUEMU_RUNTIME_FORWARD(cudaMemPoolSetAttribute, (Pool pool, int which, void* value),
                       cuMemPoolSetAttribute, (pool, which, value))
GPUEMU_RUNTIME_FORWARD(cudaMemPoolGetAttribute, (Pool pool, int which, void* value),
                       cuMemPoolGetAttribute, (pool, which, value))
GPUEMU_RUNTIME_FORWARD(cudaMemPoolTrimTo, (Pool pool, size_t bytes), cuMemPoolTrimTo, (pool, bytes))
GPUEMU_RUNTIME_FORWARD(cudaMemPoolSetAccess,
                       (Pool pool, const libcuda::AccessDescription* all, size_t count),
                       cuMemPoolSetAccess, (pool, all, count))
GPUEMU_RUNTIME_FORWARD(cudaMemPoolGetAccess, (int* flags, Pool pool, libcuda::Location* location),
                       cuMemPoolGetAccess, (flags, pool, location))
#if GPUEMU_RUNTIME_MAJOR != 12
GPUEMU_RUNTIME_FORWARD(cudaMemGetDefaultMemPool,
                       (Pool * pool, const libcuda::Location* location, int type),
                       cuMemGetDefaultMemPool, (pool, location, type))
GPUEMU_RUNTIME_FORWARD(cudaMemGetMemPool,
                       (Pool * pool, const libcuda::Location* location, int type), cuMemGetMemPool,
                       (pool, location, type))
GPUEMU_RUNTIME_FORWARD(cudaMemSetMemPool, (const libcuda::Location* location, int type, Pool pool),
                       cuMemSetMemPool, (location, type, pool))
#endif
GPUEMU_RUNTIME_FORWARD(cudaDeviceGetDefaultMemPool, (Pool * pool, int device),
                       cuDeviceGetDefaultMemPool, (pool, device))
GPUEMU_RUNTIME_FORWARD(cudaDeviceGetMemPool, (Pool * pool, int device), cuDeviceGetMemPool,
                       (pool, device))
GPUEMU_RUNTIME_FORWARD(cudaDeviceSetMemPool, (int device, Pool pool), cuDeviceSetMemPool,
                       (device, pool))

}  // namespace gpuemu::libcudart
