// Properties that an output must have by itself, whatever the reference says.
#pragma once

#include <optional>

#include "judge/verdict/validate.h"

namespace gpuemu {

/// The first violation, or nothing. no_nan, no_inf and finite belong to the scan and find nothing
/// here.
std::optional<ValidationFailure> check_invariant(const Comparison& comparison,
                                                 const InvariantSpec& spec);

/// False where the output is too small, or of values too few, to show a violation, and for what the
/// device alone sees.
bool is_conclusive(const Comparison& comparison, const InvariantSpec& spec);

}  // namespace gpuemu
