// Properties that an output must have by itself, independent of the reference.
#pragma once

#include <optional>

#include "judge/verdict/validate.h"

namespace gpuemu {

/// Returns the first violation, if any. no_nan, no_inf and finite are checked by the scan and find
/// nothing here.
std::optional<ValidationFailure> check_invariant(const Comparison& comparison,
                                                 const InvariantSpec& spec);

/// Returns false if the output is too small, or has too few different values, to reveal a
/// violation, and for invariants that only the device can check.
bool is_conclusive(const Comparison& comparison, const InvariantSpec& spec);

}  // namespace gpuemu
