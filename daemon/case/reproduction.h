// The data from which a stored case is reproduced.
#pragma once

#include "common/protocol/records.gen.h"

namespace gpuemu {

struct CasePlan;
struct CaseRequest;
struct OpConfig;

/// Generates the inputs of a case as tensors, without running anything.
NamedTensors make_inputs(const OpConfig& op, const CasePlan& plan);

/// Returns what must be stored to reproduce the case.
ReproductionInfo reproduction_of(const CasePlan& plan, const NamedTensors& inputs);

/// As above, for the requested case with the kernel that ran.
ReproductionInfo reproduction_of(const CaseRequest& request, const NamedTensors& inputs);

/// Returns the plan of a stored case. InvalidArgument if the op's schema has changed and the case
/// no longer fits.
Result<CasePlan> plan_from(const OpConfig& op, const ReproductionInfo& info);

}  // namespace gpuemu
