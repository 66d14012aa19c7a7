// Decides whether an output is right: shape, dtype, tolerance, NaN, Inf and invariants, in this
// order, in a single pass over the data. Pure functions; thread-safe.
#pragma once

#include "judge/bounds/comparison.h"

namespace gpuemu {

Verdict validate(const Comparison& comparison);

}  // namespace gpuemu
