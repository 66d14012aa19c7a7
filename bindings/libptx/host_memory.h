// Makes the memory of this process accessible to kernels, within the bounds of its mappings.
#pragma once

#include <cstdint>
#include <map>

namespace gpuemu::libptx {

/// Not thread-safe. A context must be current.
class HostMemory {
 public:
  /// Registers new writable mappings, and unregisters those that are gone.
  void update();

 private:
  std::map<uint64_t, uint64_t> registered_;  ///< Bytes by address.
};

}  // namespace gpuemu::libptx
