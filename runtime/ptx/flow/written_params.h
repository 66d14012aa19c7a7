// Finds the parameters that tell an entry where to write, so that the memory that a launch changes
// is known before it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Returns the indices of the parameters whose values can be part of the address of global memory
/// that the entry writes; nullopt if such an address may come from elsewhere: from memory, a
/// variable or another function. A number of 32 bits from memory counts as an offset.
std::optional<std::vector<uint32_t>> written_params(const Function& entry);

}  // namespace gpuemu::ptx
