// The stage Relations, and the further runs of a case's kernel that other stages ask for.
#pragma once

#include "common/protocol/replies.h"
#include "daemon/pipeline/case_run.h"
#include "daemon/pipeline/stages.h"

namespace gpuemu {

/// Checks every relation of the op on a case that passes so far, and adds which were checked and
/// which do not hold. The arena holds other tensors afterwards.
Result<Next> check_relations(CaseWork& work);

/// The outputs of the case's kernel on these inputs as they would be without any rounding, float64
/// where they are floats. Cancelled when the run fails. The arena holds other tensors afterwards.
Result<NamedTensors> run_exactly(const CaseRequest& request, Slot& slot,
                                 const NamedTensors& inputs);

/// What run_exactly() gives with scalar parameters and what ShadowConfig::nudge names moved by a
/// unit in the last place, by chance of `draw`, which is not 0.
Result<NamedTensors> run_nudged(const CaseRequest& request, Slot& slot, const NamedTensors& inputs,
                                uint64_t draw);

/// What run_exactly() gives with scalar parameters and constants of the kernel that were rounded
/// moved by a unit in the last place, by chance of `draw`, which is not 0.
Result<NamedTensors> run_with_moved_constants(const CaseRequest& request, Slot& slot,
                                              const NamedTensors& inputs, uint64_t draw);

/// How many floats of the case lie so close between two whole numbers that rounding them to one is
/// a matter of their last digits (ShadowReport::close_roundings). Errors as run_exactly().
Result<uint64_t> close_roundings(const CaseRequest& request, Slot& slot);

/// What run_exactly() gives, and how far from it results too small for their type may have taken
/// the computed values; nothing of float outputs that no float instruction made.
struct ExactRun {
  NamedTensors values, underflow;  ///< Both float64.
};
Result<ExactRun> run_for_underflow(const CaseRequest& request, Slot& slot,
                                   const NamedTensors& inputs);

/// How outputs of two runs are compared: all of the op but its tolerance and invariants.
ValidationPolicy agreement_policy(const CaseRequest& request);

/// Says in the report what its verdict rests on where no reference was compared, and which
/// relations no case could tell anything about.
void describe_verdict(const Config& config, const OpConfig& op, OpTestReport& report);

}  // namespace gpuemu
