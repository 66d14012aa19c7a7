#include "daemon/remote/device_info.h"

#include <cstdlib>

namespace gpuemu {

DeviceInfo info_of(const DeviceProperties& device) {
  return {.name = device.name,
          .backend = device.backend,
          .architecture = "sm_" + std::to_string(device.sm),
          .memory_bytes = device.memory_bytes,
          .multiprocessors = device.multiprocessors,
          .index = static_cast<uint64_t>(device.index),
          .memory_free_bytes = device.memory_free_bytes,
          .shared_bytes_per_block = device.shared_bytes_per_block_max,
          .shared_bytes_per_multiprocessor = device.shared_bytes_per_multiprocessor,
          .registers_per_block = device.registers_per_block,
          .registers_per_multiprocessor = device.registers_per_multiprocessor,
          .threads_per_multiprocessor = device.threads_per_multiprocessor,
          .driver_version = device.driver_version,
          .runtime_version = device.runtime_version,
          .dtypes = device.dtypes,
          .note = ""};
}

int sm_of(const DeviceInfo& device) {
  constexpr size_t kPrefix = 3;
  return device.architecture.starts_with("sm_") ? std::atoi(device.architecture.c_str() + kPrefix)
                                                : 0;
}

}  // namespace gpuemu
