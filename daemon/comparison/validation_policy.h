// How the outputs of a case are compared, as its op and the run say.
#pragma once

#include <map>
#include <string>

#include "common/base/result.h"
#include "common/config/expression.h"
#include "judge/bounds/comparison.h"

namespace gpuemu {

struct CaseRequest;

/// All but what differs between outputs: tolerance, error scale and policy for NaN. `scope` has the
/// sizes of the case, `inputs` what the kernel reads. InvalidArgument where `accumulate` is no
/// length in this case.
Result<ValidationPolicy> validation_policy(const CaseRequest& request, const Scope& scope,
                                           const std::map<std::string, TensorView>& inputs);

}  // namespace gpuemu
