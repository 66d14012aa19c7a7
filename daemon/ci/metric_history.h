// How the numbers of kernels came to be what they are: baselines, earlier runs, this run.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/ci.h"
#include "daemon/storage/store.h"

namespace gpuemu {

/// Metrics that are known by a name, such as those of a baseline.
struct NamedArtifacts {
  std::string name;
  std::vector<ArtifactMetrics> artifacts;
};

/// The numbers of this run behind those of every baseline and every earlier run that differed from
/// the one before, by kernel and architecture; nothing of kernels that are measured for the first
/// time. `given`: a baseline that may be in no store. What is new is remembered for the next run.
Result<std::vector<KernelTrend>> follow_metrics(Store& store, const NamedArtifacts& given,
                                                const std::vector<LintResult>& now,
                                                int64_t timestamp);

}  // namespace gpuemu
