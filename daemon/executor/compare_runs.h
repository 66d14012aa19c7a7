// Compares the outputs of several runs of one plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/executor/plan.h"

namespace gpuemu {

/// Packed outputs of one run by tensor index; empty for tensors that are not outputs.
using RunOutputs = std::vector<std::vector<std::byte>>;

/// Returns the text that explains why the output of `run` differs; `untouched`: it still holds
/// poison.
using DifferenceText = std::function<std::string(uint32_t run, bool untouched)>;

/// Returns findings for elements that no run wrote, and for those that differ from the first run.
std::vector<HarnessFinding> compare_runs(const ExecutionPlan& plan,
                                         const std::vector<RunOutputs>& runs,
                                         const DifferenceText& why);

/// Returns findings for outputs that equal the warmup's bit for bit. They only matter if the values
/// are wrong, which the caller decides.
std::vector<HarnessFinding> stale_outputs(const ExecutionPlan& plan, const RunOutputs& warmed_up,
                                          const RunOutputs& outputs);

}  // namespace gpuemu
