// Says of failing elements why they are expected to be what they are not.
#pragma once

#include <vector>

#include "daemon/case/compared_values.h"

namespace gpuemu {

/// Adds to the messages of an output's findings: what the reference holds where another value is
/// expected than that, and why no rounding is allowed where none is.
void explain_expected(const ComparedOutput& compared, std::vector<ValidationFailure>& failures);

}  // namespace gpuemu
