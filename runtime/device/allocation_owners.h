// Lists the largest allocations, for out-of-memory messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace gpuemu {

struct AllocationOwner {
  std::string_view name;
  uint64_t bytes = 0;
  uint64_t address = 0;
};

/// Returns for example "'weights' 4096, 'bias' 64": the largest first, as many as fit on a line; ""
/// if `owners` is empty. Allocations with the same name are shown with their addresses.
std::string largest_owners(std::vector<AllocationOwner> owners);

/// A memory pool: its size, and how much of it is in use.
struct MemoryUse {
  std::string_view where;  ///< "the emulator's memory"
  uint64_t used_bytes = 0, total_bytes = 0;
};
/// Builds a ResourceExhausted error with the requested size, the memory in use and the largest
/// owners.
Error out_of_memory(std::string_view name, uint64_t bytes, const MemoryUse& use,
                    std::vector<AllocationOwner> owners);

}  // namespace gpuemu
