// What the outputs of the runs of one plan show when they are laid side by side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/worker/plan.h"

namespace gpuemu {

/// Packed outputs of one run, by tensor index; empty for tensors that are none.
using RunOutputs = std::vector<std::vector<std::byte>>;

/// Why the output is another one in `run`, where the element is still poisoned or not.
using DifferenceText = std::function<std::string(uint32_t run, bool untouched)>;

/// Elements that no run wrote, and those that differ from run to run. The first run leads.
std::vector<HarnessFinding> compare_runs(const ExecutionPlan& plan,
                                         const std::vector<RunOutputs>& runs,
                                         const DifferenceText& why);

/// Outputs of the run that are the warmup's bit for bit. The engine knows whether the values are
/// wrong; only then does it matter.
std::vector<HarnessFinding> stale_outputs(const ExecutionPlan& plan, const RunOutputs& warmed_up,
                                          const RunOutputs& outputs);

}  // namespace gpuemu
