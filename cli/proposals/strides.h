// Sizes that say how far apart rows lie.
#pragma once

#include <string>

#include "cli/proposals/probe.h"
#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Adds to `kernel.follows` each stride or pitch whose value follows from dims where rows lie right
/// behind each other: "row_stride" -> "heads * head_size". False where there is none.
bool find_strides(Probe& probe, const std::string& entry, ProposedKernel& kernel);

}  // namespace gpuemu::cli
