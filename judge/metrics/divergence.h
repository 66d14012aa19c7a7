// Finds the branches of a kernel at which the threads of a warp may diverge.
#pragma once

#include <cstdint>

#include "runtime/ptx/module.h"

namespace gpuemu {

struct Branches {
  uint32_t conditional = 0;
  uint32_t divergent = 0;  ///< Branches whose condition may differ between the lanes of a warp.
};

/// A value may vary between lanes if it depends on %tid, %laneid, or the results of atomics,
/// shuffles, calls or loads from varying addresses; results of votes are uniform. Never reports too
/// few branches, but too many if values happen to agree.
Branches find_divergence(const ptx::Function& function);

}  // namespace gpuemu
