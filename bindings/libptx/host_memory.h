// Makes the memory of this process one that kernels reach, within the bounds of its mappings.
#pragma once

#include <cstdint>
#include <map>

namespace gpuemu::libptx {

/// Not thread-safe. A context must be current.
class HostMemory {
 public:
  /// Registers the mappings that can be written and that are new, and forgets those that are gone.
  void update();

 private:
  std::map<uint64_t, uint64_t> registered_;  ///< Bytes by address.
};

}  // namespace gpuemu::libptx
