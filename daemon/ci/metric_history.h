// The history of kernel metrics: baselines, earlier runs, this run.
#pragma once

#include <string>
#include <vector>

#include "common/protocol/ci.gen.h"
#include "daemon/storage/store.h"

namespace gpuemu {

/// Metrics with a name, such as those of a baseline.
struct NamedArtifacts {
  std::string name;
  std::vector<ArtifactMetrics> artifacts;
};

/// Appends this run's numbers to those of every baseline and of every earlier run that differed
/// from the one before it, by kernel and architecture. Kernels measured for the first time are left
/// out. `given` is a baseline that may be in no store. New numbers are remembered for the next run.
Result<std::vector<KernelTrend>> follow_metrics(Store& store, const NamedArtifacts& given,
                                                const std::vector<LintResult>& now,
                                                int64_t timestamp);

}  // namespace gpuemu
