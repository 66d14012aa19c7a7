// The stage Record, and the way back: what a stored case is made again from.
#pragma once

#include "daemon/pipeline/case_run.h"
#include "daemon/pipeline/stages.h"

namespace gpuemu {

/// Writes into the report what reproduces the case, its time and its verdict.
Result<Next> record_case(CaseWork& work);

/// Inputs of a case as tensors, without running anything.
NamedTensors make_inputs(const OpConfig& op, const CasePlan& plan);

/// What is stored so that the case can be made again.
ReproductionInfo reproduction_of(const CasePlan& plan, const NamedTensors& inputs);

/// The plan of a stored case. InvalidArgument when the op's schema has changed so that it does not
/// fit any more.
Result<CasePlan> plan_from(const OpConfig& op, const ReproductionInfo& info);

}  // namespace gpuemu
