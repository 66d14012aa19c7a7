// What the plan of a case says of its types and of the sums behind its outputs.
#pragma once

#include <string>

#include "common/numeric/dtype.h"

namespace gpuemu {

struct CasePlan;
struct CaseRequest;

DType dtype_of_output(const CasePlan& plan, const std::string& output);

/// Returns the number of terms that one element may be a sum of: as declared, otherwise as the
/// shapes permit.
double summed_terms(const CaseRequest& request, const std::string& output);

/// Returns the last place of float32 relative to that of the inputs: constants are stored in
/// float32 or better.
double constants_share(const CasePlan& plan);

}  // namespace gpuemu
