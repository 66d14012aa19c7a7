// What the text of a kernel says of its sums: how long they are, and whether their order is fixed.
#pragma once

#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Length of the longest sum: the dims that loops run over while they add up, and that no output
/// has. "" for none.
std::string sum_length(const ProposedKernel& kernel);

/// Whether it adds floats with atomics, in no fixed order.
bool adds_floats(const ProposedKernel& kernel);

}  // namespace gpuemu::cli
