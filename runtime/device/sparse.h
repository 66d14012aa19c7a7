// Memory of which only the pages exist that somebody touches: a device that has it holds tensors
// larger than its machine, for kernels of which only a few blocks run.
#pragma once

#include <span>
#include <string>

#include "runtime/device/device.h"

namespace gpuemu {

/// What a device may offer beside the interface of all.
class SparseMemory {
 public:
  virtual ~SparseMemory() = default;
  /// Does not count against the device's limit; ends with Device::free. Holds `pattern` again and
  /// again, zeros when that is empty, and everything counts as written. Unsupported for a pattern
  /// that cannot be repeated, ResourceExhausted without room for the addresses.
  virtual Result<uint64_t> allocate_sparse(uint64_t bytes, const std::string& name,
                                           std::span<const std::byte> pattern) = 0;
};

/// Null where the device has none.
SparseMemory* sparse_memory_of(Device& device);

}  // namespace gpuemu
