// Compares the outputs of a case with what the reference said; whatever else was wished for beside
// the verdict is measured here too, while both are in memory.
#pragma once

#include "daemon/pipeline/case_run.h"

namespace gpuemu {

/// Packed elements in the shared memory. An error when it does not hold all of them.
Result<TensorView> arena_view(Arena& arena, DType dtype, const Shape& shape, uint64_t offset);

/// Adds verdict and findings of every output to the outcome. `reply` is null without a reference.
Status judge_outputs(const CaseRequest& request, const BuiltPlan& built, Arena& arena,
                     const ReferenceReply* reply, CaseOutcome& outcome);

}  // namespace gpuemu
