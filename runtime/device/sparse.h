// Sparse memory: only the pages that are touched exist. A device that supports it can hold tensors
// larger than the machine's memory, for kernels of which only a few blocks run.
#pragma once

#include <span>
#include <string>

#include "runtime/device/device.h"

namespace gpuemu {

/// An optional interface of a device.
class SparseMemory {
 public:
  virtual ~SparseMemory() = default;
  /// Allocates memory filled with repetitions of `pattern` (zeros if empty); all of it counts as
  /// initialised. Does not count against the device's limit; freed with Device::free. Unsupported
  /// for a pattern that cannot be repeated, ResourceExhausted if the address space is exhausted.
  virtual Result<uint64_t> allocate_sparse(uint64_t bytes, const std::string& name,
                                           std::span<const std::byte> pattern) = 0;
};

/// Returns null if the device does not support sparse memory.
SparseMemory* sparse_memory_of(Device& device);

}  // namespace gpuemu
