// Where lanes meet again after a branch, when some of their paths leave the function.
#pragma once

#include <vector>

#include "runtime/ptx/flow/cfg.h"

namespace gpuemu::ptx {

/// Fills in BasicBlock::meet. It is the immediate post-dominator where there is one. An early
/// return or a failed assertion below a branch leaves only the exit as post-dominator, but the
/// lanes that stay must come together: they meet at the first block that paths from two successors
/// reach. `leaving`: blocks that only end the thread or the call.
void find_meetings(ControlFlow& flow, const std::vector<bool>& leaving);

}  // namespace gpuemu::ptx
