// Memory that its caller fills at once: a device that fills new memory itself saves that work.
#pragma once

#include <string>

#include "runtime/device/device.h"

namespace gpuemu {

/// An optional interface of a device.
class BlankMemory {
 public:
  virtual ~BlankMemory() = default;
  /// Device::allocate() for a caller that uploads or fills all of it before anything else.
  virtual Result<uint64_t> allocate_blank(uint64_t bytes, const std::string& name) = 0;
};

/// Returns null if the device leaves new memory as it is.
BlankMemory* blank_memory_of(Device& device);

}  // namespace gpuemu
