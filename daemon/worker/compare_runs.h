// Compares the outputs of several runs of one plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/worker/plan.h"

namespace gpuemu {

/// Packed outputs of one run by tensor index; empty for tensors that are not outputs.
using RunOutputs = std::vector<std::vector<std::byte>>;

/// Returns the text that explains why the output of `run` differs; `untouched`: still poisoned.
using DifferenceText = std::function<std::string(uint32_t run, bool untouched)>;

/// Findings about elements that no run wrote, and elements that differ from the first run.
std::vector<HarnessFinding> compare_runs(const ExecutionPlan& plan,
                                         const std::vector<RunOutputs>& runs,
                                         const DifferenceText& why);

/// Findings about outputs that equal those of the warmup bit for bit. They matter only if the
/// values are wrong, which the engine decides.
std::vector<HarnessFinding> stale_outputs(const ExecutionPlan& plan, const RunOutputs& warmed_up,
                                          const RunOutputs& outputs);

}  // namespace gpuemu
