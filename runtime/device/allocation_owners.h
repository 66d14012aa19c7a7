// Who has the memory, for the sentence that says it is out.
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

/// "'weights' 4096, 'bias' 64": the largest first, as many as fit a line; "" of none. Those of one
/// name are told apart by their addresses.
std::string largest_owners(std::vector<AllocationOwner> owners);

/// What an allocation may take from, and how much of it is taken.
struct MemoryUse {
  std::string_view where;  ///< "the emulator's memory"
  uint64_t used_bytes = 0, total_bytes = 0;
};
/// ResourceExhausted: what was asked for, what there is, and who holds most of it.
Error out_of_memory(std::string_view name, uint64_t bytes, const MemoryUse& use,
                    std::vector<AllocationOwner> owners);

}  // namespace gpuemu
