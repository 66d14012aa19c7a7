// What the commands about baselines share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session/session.h"

namespace gpuemu::cli {

/// Asks the daemon to measure kernels or files. Nothing when that failed, which has been told.
/// After Ctrl-C what was measured until then; the exit code is set.
std::optional<LintResultsReply> inspect(const InspectRequest& request, Session& session);

/// The names under which the metrics of the project's kernels are stored: nothing else in the
/// database concerns it. None for a project without kernels, which is compared as a whole.
using KernelNames = std::vector<std::string>;

/// Measures every kernel of the project, so that what is stored is what the sources are now.
/// Nothing when one could not be measured, which has been told.
std::optional<KernelNames> measure_project(const Config& config, Session& session);
/// The kernels with stored metrics. Nothing when they cannot be listed, which has been reported.
std::optional<KernelNames> measured_before(const Config& config, Session& session);
/// Measured kernels that are none of a project's: of files that were linted, or of kernels that
/// gpuemu.toml has lost. Empty for a project without kernels.
std::optional<KernelNames> linted_before(const Config& config, Session& session);

/// Adds what the baseline holds of files that were linted and that no kernel of gpuemu.toml names:
/// their metrics are those of the last lint.
void add_linted(const Config& config, const BaselineReply& baseline, KernelNames& names);

/// The stored baseline `tag`, or the one in `file` where that is given. Nothing when there is none,
/// which has been told.
std::optional<BaselineReply> find_baseline(const std::string& tag, const std::string& file,
                                           Session& session);

/// The metrics that were in force at a time, as --since has it, as a baseline of that name. Nothing
/// when there were none, which has been told.
std::optional<BaselineReply> in_force(const std::string& since, Session& session);

}  // namespace gpuemu::cli
