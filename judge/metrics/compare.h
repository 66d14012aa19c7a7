// Finds what changed in a kernel since a baseline.
#pragma once

#include <vector>

#include "common/protocol/artifacts.gen.h"

namespace gpuemu {

/// Computes the deltas and is_regression that existing clients know: registers, spills or local
/// memory grew. If both sides have numbers of ptxas for the same architecture, those decide instead
/// of the virtual ones. `warn_threshold`: the increase of any other number from which it is a
/// "warning".
ArtifactDiff compare_artifacts(const ArtifactMetrics* baseline, const ArtifactMetrics& current,
                               double warn_threshold);

/// Returns one diff per current kernel, and the names of kernels that are gone.
ArtifactDiffSummary compare_all(const std::vector<ArtifactMetrics>& baseline,
                                const std::vector<ArtifactMetrics>& current, double warn_threshold);

}  // namespace gpuemu
