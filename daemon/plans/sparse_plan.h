// Plans with huge tensors that consist of repeated copies of small ones, and the evaluation of
// their runs.
#pragma once

#include "common/base/arena.h"
#include "daemon/plans/execution_plan.h"
#include "judge/relations/derived_case.h"

namespace gpuemu {

/// Converts a plan that build_plan has made for huge sizes into one for execute_sparse(): the arena
/// holds one copy of each input and the windows of each output.
void repeat_tensors(const DerivedCase& derived, BuiltPlan& built);

/// Reads the windows from the arena.
Status read_windows(const BuiltPlan& built, Arena& arena, WideIndexRun& run);

/// Returns whether the grid is so large that no block can have run in both runs, from either end,
/// given the total number of instructions that they executed; false for code that assigns work to
/// blocks with a counter.
bool ran_apart(const BuiltPlan& built, uint64_t instructions, const std::string& ptx);

}  // namespace gpuemu
