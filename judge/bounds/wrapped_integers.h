// Integers that do not fit the output's type: a sum of the largest numbers of a type has no right
// answer in it, and hardware keeps the lowest bits.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/bounds/comparison.h"

namespace gpuemu {

/// Marks elements with 1 whose expected integer does not fit the output's type and which have its
/// lowest bits; also those whose expected float64 is too large to have these bits. Empty where no
/// element is marked. Outputs of 64 bits have none, since a float64 cannot tell.
std::vector<uint8_t> wrapped_integers(const Comparison& comparison);

/// Whether an output of this dtype cannot hold the value. False for floats, bool and 64 bits.
bool is_beyond(DType output, double value);

}  // namespace gpuemu
