// What a stored case is made again from.
#pragma once

#include "common/protocol/records.h"

namespace gpuemu {

struct CasePlan;
struct CaseRequest;
struct OpConfig;

/// Inputs of a case as tensors, without running anything.
NamedTensors make_inputs(const OpConfig& op, const CasePlan& plan);

/// What is stored so that the case can be made again.
ReproductionInfo reproduction_of(const CasePlan& plan, const NamedTensors& inputs);

/// As above, of the case that was asked for, with the kernel that ran.
ReproductionInfo reproduction_of(const CaseRequest& request, const NamedTensors& inputs);

/// The plan of a stored case. InvalidArgument when the op's schema has changed so that it does not
/// fit any more.
Result<CasePlan> plan_from(const OpConfig& op, const ReproductionInfo& info);

}  // namespace gpuemu
