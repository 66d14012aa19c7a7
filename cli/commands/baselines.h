// Functions shared by the commands about baselines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/session/session.h"

namespace gpuemu::cli {

/// Requests the daemon to measure kernels or files. Returns nothing on failure, which has been
/// reported. After Ctrl-C, returns what was measured until then and sets the exit code.
std::optional<LintResultsReply> inspect(const InspectRequest& request, Session& session);

/// The names under which the metrics of the project's kernels are stored; other entries of the
/// database do not belong to it. Empty for a project without kernels, which is compared as a whole.
using KernelNames = std::vector<std::string>;

/// Measures every kernel of the project, so that the stored metrics match the current sources.
/// Returns nothing if one could not be measured, which has been reported.
std::optional<KernelNames> measure_project(const Config& config, Session& session);
/// Returns the kernels with stored metrics; nothing if they cannot be listed, which has been
/// reported.
std::optional<KernelNames> measured_before(const Config& config, Session& session);
/// Returns measured kernels that do not belong to the project: those of linted files, or those
/// removed from gpuemu.toml. Empty for a project without kernels.
std::optional<KernelNames> linted_before(const Config& config, Session& session);

/// Adds the names of linted files in the baseline that no kernel of gpuemu.toml has; their metrics
/// are those of the last lint.
void add_linted(const Config& config, const BaselineReply& baseline, KernelNames& names);

/// Returns the stored baseline `tag`, or the one in `file` if that is given. Returns nothing if
/// there is none, which has been reported.
std::optional<BaselineReply> find_baseline(const std::string& tag, const std::string& file,
                                           Session& session);

/// Returns the metrics that were current at a time, given as for --since, as a baseline of that
/// name. Returns nothing if there were none, which has been reported.
std::optional<BaselineReply> in_force(const std::string& since, Session& session);

}  // namespace gpuemu::cli
