// A plan of tensors that are small ones again and again, and what its run has shown.
#pragma once

#include "common/base/arena.h"
#include "daemon/plans/execution_plan.h"
#include "judge/relations/derived_case.h"

namespace gpuemu {

/// Turns the plan, which build_plan has made of huge sizes, into one for execute_sparse(): the
/// arena holds one copy of each input and the windows of each output.
void repeat_tensors(const DerivedCase& derived, BuiltPlan& built);

/// The windows from the arena.
Status read_windows(const BuiltPlan& built, Arena& arena, WideIndexRun& run);

/// Whether the grid is so large that no block can have run from either end, when both runs executed
/// so many instructions together; false for code that gives its blocks their work by counting.
bool ran_apart(const BuiltPlan& built, uint64_t instructions, const std::string& ptx);

}  // namespace gpuemu
