// Finds the sums in a kernel's text: their length, and whether their order is fixed.
#pragma once

#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Returns the length of the longest sum: the dims over which accumulating loops run, and that no
/// output has. "" for none.
std::string sum_length(const ProposedKernel& kernel);

/// Returns whether it adds floats with atomics, in no fixed order.
bool adds_floats(const ProposedKernel& kernel);

}  // namespace gpuemu::cli
