// What `gpuemu lint` found, for people and for code scanning.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/artifacts.h"

namespace gpuemu::cli {

/// One [PASS], [FAIL] or [ERROR] line per kernel and architecture with its violations below, checks
/// that could not be made once each, and a summary. `details`: all that was counted as well.
/// Kernels that are beyond a limit or could not be measured are also printed to `failing`.
void print_lint(const std::vector<LintResult>& results, bool details, std::ostream& out,
                std::ostream* failing = nullptr);

/// What accepts the numbers that are beyond a limit, as lines for gpuemu.toml; nothing where no
/// number is.
void print_new_limits(const std::vector<LintResult>& results, std::ostream& out);

/// The numbers of one kernel, a line per architecture.
void print_metrics(const ArtifactMetrics& metrics, bool details, std::ostream& out);

/// SARIF 2.1.0: one result per violation and per kernel that could not be measured. A place is the
/// kernel's source line where it is known, else its entry in gpuemu.toml, else the file; paths
/// below `folder` are relative to it. `config` may be null.
std::string lint_sarif(const std::vector<LintResult>& results, const Config* config,
                       const std::string& folder);

}  // namespace gpuemu::cli
