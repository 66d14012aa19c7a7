// A second verdict on a case with subnormal inputs: what flushing them to zero explains.
#pragma once

#include "daemon/pipeline/case_run.h"

namespace gpuemu {

/// Whether the case may have subnormal inputs, and flushing them is a note.
bool may_have_flushed(const CaseRequest& request);

/// The run of the case whose outputs and reference lie in the arena.
struct JudgedRun {
  const BuiltPlan& built;
  Arena& arena;
  /// Asks the reference about the inputs that lie in the arena now.
  std::function<Result<ReferenceReply>()> ask;
};

/// Judges a failing case again, with the reference for inputs whose subnormal numbers are zero
/// beside the one for the inputs themselves. `before` is the outcome before the first verdict and
/// `outcome` the one with it, which is replaced where it has more findings.
Status judge_flushed(const CaseRequest& request, const JudgedRun& run, CaseOutcome before,
                     CaseOutcome& outcome);

}  // namespace gpuemu
