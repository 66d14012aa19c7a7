// Host memory, and memory and streams created elsewhere.
#include <algorithm>
#include <mutex>

#include "runtime/cuda/device_impl.h"
#include "runtime/cuda/streams.h"

namespace gpuemu::cuda {
namespace {

// Constants of the driver's header.
constexpr unsigned kManagedGlobal = 1;
constexpr int kPointerMemoryType = 2, kPointerDeviceOrdinal = 9, kMemoryOfDevice = 2;
constexpr uint64_t kLegacyHandle = 1;

uint64_t number_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

}  // namespace

Result<void*> CudaStreams::allocate_host(uint64_t bytes) {
  GPUEMU_TRY(device_.ready());
  void* memory = nullptr;
  const int code =
      driver_.cuMemHostAlloc(&memory, std::max<uint64_t>(bytes, 1), kHostPortable | kHostMapped);
  if (code == kOutOfMemory) {
    return error(ErrorCode::ResourceExhausted, "the host has no {} bytes of pinned memory", bytes);
  }
  GPUEMU_TRY(device_.check(code, "allocating pinned memory"));
  const std::lock_guard lock(mutex_);
  pinned_.insert(number_of(memory));
  return memory;
}

Result<void*> CudaStreams::allocate_managed(uint64_t bytes) {
  GPUEMU_TRY(device_.ready());
  const uint64_t real = std::max<uint64_t>(bytes, 1);
  uint64_t address = 0;
  const int code = driver_.cuMemAllocManaged(&address, real, kManagedGlobal);
  if (code == kOutOfMemory) {
    return error(ErrorCode::ResourceExhausted, "there are no {} bytes of managed memory", bytes);
  }
  GPUEMU_TRY(device_.check(code, "allocating managed memory"));
  device_.know_foreign(address, real);
  const std::lock_guard lock(mutex_);
  managed_[address] = real;
  return reinterpret_cast<void*>(address);
}

Status CudaStreams::adopt_memory(uint64_t address, uint64_t bytes, const std::string& name) {
  GPUEMU_TRY(device_.ready());
  int type = 0, ordinal = -1;
  if (driver_.cuPointerGetAttribute(&type, kPointerMemoryType, address) != kSuccess ||
      driver_.cuPointerGetAttribute(&ordinal, kPointerDeviceOrdinal, address) != kSuccess) {
    return error(ErrorCode::InvalidArgument, "{}: {:#x} is not memory of a GPU", name, address);
  }
  const int own = device_.properties().index;
  if (type == kMemoryOfDevice && ordinal != own) {
    return error(ErrorCode::InvalidArgument,
                 "{}: {:#x} is memory of GPU {}, this device is GPU {}: copy it", name, address,
                 ordinal, own);
  }
  device_.know_foreign(address, bytes);
  return {};
}

Status CudaStreams::release_memory(uint64_t address, uint64_t bytes) {
  if (device_.forget_foreign(address, bytes)) return {};
  return error(ErrorCode::InvalidArgument, "{} bytes at {:#x} were not adopted", bytes, address);
}

Result<StreamId> CudaStreams::adopt_stream(void* native) {
  GPUEMU_TRY(device_.ready());
  const uint64_t stream = number_of(native);
  // The two predefined streams have the same handles in the driver.
  if (stream == kDefaultStream || stream == kPerThreadStream) return stream;
  if (stream == kLegacyHandle) return kDefaultStream;
  Context context = nullptr;
  GPUEMU_TRY(device_.check(driver_.cuStreamGetCtx(static_cast<Stream>(native), &context),
                           "asking a stream for its context"));
  if (!device_.is_context(context)) {
    return error(ErrorCode::InvalidArgument,
                 "the stream {:#x} belongs to another device or context", stream);
  }
  const std::lock_guard lock(mutex_);
  if (streams_.insert(stream).second) foreign_.insert(stream);
  return stream;
}

Status CudaStreams::free_host(void* memory) {
  uint64_t managed = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = managed_.find(number_of(memory));
    if (found != managed_.end()) {
      managed = found->second;
      managed_.erase(found);
    }
  }
  if (managed != 0) {
    device_.forget_foreign(number_of(memory), managed);
    GPUEMU_TRY(waited(driver_.cuCtxSynchronize(), kDefaultStream));
    return device_.check(driver_.cuMemFree_v2(number_of(memory)), "freeing managed memory");
  }
  GPUEMU_TRY(forget_handle(pinned_, number_of(memory), "pinned memory at"));
  GPUEMU_TRY(waited(driver_.cuCtxSynchronize(), kDefaultStream));
  return device_.check(driver_.cuMemFreeHost(memory), "freeing pinned memory");
}

}  // namespace gpuemu::cuda
