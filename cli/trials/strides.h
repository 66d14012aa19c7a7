// Finds sizes that are the distance between rows.
#pragma once

#include <string>

#include "cli/proposals/propose.h"
#include "cli/trials/probe.h"

namespace gpuemu::cli {

/// Adds to `kernel.follows` each stride or pitch that can be computed from dims if rows are
/// adjacent: "row_stride" -> "heads * head_size". Returns false if there is none.
bool find_strides(Probe& probe, const std::string& entry, ProposedKernel& kernel);

}  // namespace gpuemu::cli
