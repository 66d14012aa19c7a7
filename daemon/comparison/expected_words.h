// Explains in findings why failing elements were expected to have another value.
#pragma once

#include <vector>

#include "daemon/case/compared_values.h"

namespace gpuemu {

/// Adds to the messages of an output's findings: the reference's value where another one is
/// expected, and why no rounding is allowed where none is.
void explain_expected(const ComparedOutput& compared, std::vector<ValidationFailure>& failures);

}  // namespace gpuemu
