// What changed in a kernel since a baseline.
#pragma once

#include <vector>

#include "common/protocol/artifacts.h"

namespace gpuemu {

/// Deltas and is_regression as existing clients know them: registers, spills or local memory grew.
/// Where both sides know what ptxas made for the same architecture, its numbers decide instead of
/// the virtual ones. `warn_threshold`: increase of any other number from which it is a "warning".
ArtifactDiff compare_artifacts(const ArtifactMetrics* baseline, const ArtifactMetrics& current,
                               double warn_threshold);

/// One diff per current kernel, and the names of those that are gone.
ArtifactDiffSummary compare_all(const std::vector<ArtifactMetrics>& baseline,
                                const std::vector<ArtifactMetrics>& current, double warn_threshold);

}  // namespace gpuemu
