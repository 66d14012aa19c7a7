// Grid, block and shared memory of a kernel: from a launch in host code, else from how its own text
// finds its place in the grid.
#pragma once

#include <string>
#include <vector>

#include "cli/cuda_text/instances.h"
#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Candidates, the likeliest first; at least one. `kernel` has its parameters; a launch's literal
/// arguments become values of its attrs.
std::vector<ProposedLaunch> guess_launches(const SourceKernel& source, const Instance& instance,
                                           const SourceContext& context, ProposedKernel& kernel);

/// From the text of its body alone.
ProposedLaunch launch_from_body(const SourceKernel& source, const Instance& instance,
                                const Definitions& definitions, const ProposedKernel& kernel);

}  // namespace gpuemu::cli
