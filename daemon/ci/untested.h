// Private to this folder: reports what gpuemu.toml declares but a run does not judge. Without such
// a report, a passing run would look as if it had.
#pragma once

#include "daemon/ci/ci_run.h"

namespace gpuemu {

/// Adds a note for each kernel that is only measured and each op whose values nothing compares.
/// Adds an op that could not be run for each kernel that was meant to be one (`gpuemu config check`
/// warns of it), and for each variant that takes no case.
void add_untested_notes(const CiMachine& machine, const CiOptions& options, CiRunSummary& summary);

/// Fails if the baseline contains neither a kernel nor an op of the project.
Status check_baseline(const Config& config, const CiOptions& options);

/// Returns the baseline's ops that gpuemu.toml no longer has.
std::vector<std::string> missing_ops(const Config& config, const CiOptions& options);

/// Returns the kernel of gpuemu.toml that metrics named `name` belong to, as in "softmax" and
/// "softmax:entry<float>".
std::string owner_of(const std::string& name);

}  // namespace gpuemu
