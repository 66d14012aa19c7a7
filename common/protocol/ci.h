// Continuous integration runs: the records of ci.def, and what a run's summary means.
#pragma once

#include "common/protocol/ci.gen.h"

namespace gpuemu {

/// Metrics or results are worse than in the baseline.
bool has_regressions(const CiRunSummary& summary);
/// Something could not be run or measured: neither success nor finding.
bool is_broken(const CiRunSummary& summary);

}  // namespace gpuemu
