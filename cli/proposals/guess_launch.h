// Determines grid, block and shared memory of a kernel: from a launch in host code, else from how
// the kernel computes its position in the grid.
#pragma once

#include <string>
#include <vector>

#include "cli/cuda_text/instances.h"
#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Returns candidates, the most likely first; at least one. `kernel` has its parameters; literal
/// arguments of a launch become values of its attrs.
std::vector<ProposedLaunch> guess_launches(const SourceKernel& source, const Instance& instance,
                                           const SourceContext& context, ProposedKernel& kernel);

/// Returns whether a size of this name usually is the distance of rows: "row_stride", "ldb".
bool is_stride_name(const std::string& name);

/// Determines the launch from the text of the body alone.
ProposedLaunch launch_from_body(const SourceKernel& source, const Instance& instance,
                                const Definitions& definitions, const ProposedKernel& kernel);

/// Returns a launch of blocks with these threads along each axis, one thread for each element of
/// all sizes.
ProposedLaunch launch_of_block(const std::vector<std::string>& block, const ProposedKernel& kernel);

}  // namespace gpuemu::cli
