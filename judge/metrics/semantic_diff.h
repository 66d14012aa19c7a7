// What two kernels do differently, whatever their registers are called: the sequence of operations,
// constants, conditions, synchronization and memory accesses.
#pragma once

#include "common/protocol/replies.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// Entries are paired by name; where one is left over on each side, those two. Verdicts: "none",
/// "constant" (immediates alone), "sync" (barriers, fences and the like, perhaps constants too),
/// "structural" (anything else). REQUIRES: both modules were verified.
KernelComparisonReply compare_modules(const ptx::Module& before, const ptx::Module& after);

}  // namespace gpuemu
