// Kinds of memory that some devices offer beside Device::allocate().
#pragma once

#include <span>
#include <string>

#include "runtime/device/device.h"

namespace gpuemu {

/// Memory that its caller fills at once: a device that fills new memory itself saves that work. An
/// optional interface of a device.
class BlankMemory {
 public:
  virtual ~BlankMemory() = default;
  /// Device::allocate() for a caller that uploads or fills all of it before anything else.
  virtual Result<uint64_t> allocate_blank(uint64_t bytes, const std::string& name) = 0;
};

/// Returns null if the device leaves new memory as it is.
BlankMemory* blank_memory_of(Device& device);

/// Sparse memory: only the pages that are touched exist, so that tensors may be larger than the
/// machine's memory, for kernels of which only a few blocks run. An optional interface of a device.
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
