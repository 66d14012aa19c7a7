// Computes a branch's reconvergence point when some paths leave the function.
#pragma once

#include <vector>

#include "runtime/ptx/flow/cfg.h"

namespace gpuemu::ptx {

/// Fills in BasicBlock::meet: the immediate post-dominator if there is one. After an early return
/// or a failed assertion only the exit post-dominates the branch, but the remaining lanes must
/// still reconverge: at the first block that paths from two successors reach. `leaving`: blocks
/// that only end the thread or the call.
void find_meetings(ControlFlow& flow, const std::vector<bool>& leaving);

}  // namespace gpuemu::ptx
