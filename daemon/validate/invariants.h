// Properties that an output must have by itself, whatever the reference says.
#pragma once

#include <optional>

#include "daemon/validate/validate.h"

namespace gpuemu {

/// The first violation, or nothing. no_nan, no_inf and finite belong to the scan and find nothing
/// here.
std::optional<ValidationFailure> check_invariant(const Comparison& comparison,
                                                 const InvariantSpec& spec);

}  // namespace gpuemu
