// Private to this folder: what stands in gpuemu.toml and a run does not judge. A gate that is
// silent about it looks as if it had.
#pragma once

#include "daemon/ci/ci_run.h"

namespace gpuemu {

/// Notes for kernels that are only measured and for ops whose values nothing compares; an op that
/// could not be run for each kernel that was meant to be one (`gpuemu config check` warns of it)
/// and for each variant that takes no case.
void add_untested_notes(const CiMachine& machine, const CiOptions& options, CiRunSummary& summary);

/// An error when the baseline has neither a kernel nor an op of the project.
Status check_baseline(const Config& config, const CiOptions& options);

/// Ops of the baseline that gpuemu.toml does not have any more.
std::vector<std::string> missing_ops(const Config& config, const CiOptions& options);

/// The kernel of gpuemu.toml whose metrics these are: "softmax" and "softmax:entry<float>".
std::string owner_of(const std::string& name);

}  // namespace gpuemu
