// Finds the branches of a kernel that may send the threads of one warp different ways.
#pragma once

#include <cstdint>

#include "runtime/ptx/module.h"

namespace gpuemu {

struct Branches {
  uint32_t conditional = 0;
  uint32_t divergent = 0;  ///< Their condition may differ between the lanes of a warp.
};

/// What may differ between lanes follows from %tid, %laneid and what atomics, shuffles, calls and
/// loads from addresses that differ give; what a vote gives is the same in all. Never too few, and
/// too many where values happen to agree.
Branches find_divergence(const ptx::Function& function);

}  // namespace gpuemu
