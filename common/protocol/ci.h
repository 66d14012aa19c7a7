// CI runs: the records of ci.def, and how a run's summary is interpreted.
#pragma once

#include "common/protocol/ci.gen.h"

namespace gpuemu {

/// Returns whether metrics or results are worse than in the baseline.
bool has_regressions(const CiRunSummary& summary);
/// Returns whether something could not be run or measured, which is neither a success nor a
/// finding.
bool is_broken(const CiRunSummary& summary);

}  // namespace gpuemu
