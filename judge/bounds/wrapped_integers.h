// Finds integers that wrapped around in the output's type: for example, a sum of the type's largest
// numbers has no right answer in it, and hardware keeps the lowest bits.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// Returns a mask with 1 for elements whose expected integer does not fit the output's type and
/// that equal its lowest bits, also for those whose expected float64 is too large to have these
/// bits. Empty if there are none. Always empty for 64-bit outputs, for which a float64 is not exact
/// enough.
std::vector<uint8_t> wrapped_integers(const Comparison& comparison);

/// Returns whether an output of this dtype cannot hold the value. False for floats, bool and 64
/// bits.
bool is_beyond(DType output, double value);

}  // namespace gpuemu
