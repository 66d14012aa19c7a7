// How the outputs of a case are compared, according to its op and the run.
#pragma once

#include <map>
#include <string>

#include "common/base/result.h"
#include "common/config/expression.h"
#include "judge/bounds/comparison.h"

namespace gpuemu {

struct CaseRequest;

/// Returns everything that all outputs share; tolerance, error scale and NaN policy differ between
/// them. `scope` has the sizes of the case, `inputs` what the kernel reads. InvalidArgument if
/// `accumulate` is no valid length in this case.
Result<ValidationPolicy> validation_policy(const CaseRequest& request, const Scope& scope,
                                           const std::map<std::string, TensorView>& inputs);

}  // namespace gpuemu
