// Finds what two kernels do differently, ignoring register names: sequence of operations,
// constants, conditions, synchronization and memory accesses.
#pragma once

#include "common/protocol/replies.gen.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// Pairs entries by name, and if one is left on each side, those two. Verdicts: "none", "constant"
/// (only immediates), "sync" (barriers, fences and similar, possibly constants too), "structural"
/// (anything else). Requires verified modules.
KernelComparisonReply compare_modules(const ptx::Module& before, const ptx::Module& after);

}  // namespace gpuemu
