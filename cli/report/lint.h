// Reports the results of `gpuemu lint`, for users and for code scanning.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/artifacts.gen.h"

namespace gpuemu::cli {

/// Prints one [PASS], [FAIL] or [ERROR] line per kernel and architecture with its violations below
/// it, each check that could not be made once, and a summary. `details` adds everything that was
/// counted. Kernels beyond a limit or without measurement are also printed to `failing`.
void print_lint(const std::vector<LintResult>& results, bool details, std::ostream& out,
                std::ostream* failing = nullptr);

/// Prints lines for gpuemu.toml that accept the numbers beyond a limit; nothing if there are none.
void print_new_limits(const std::vector<LintResult>& results, std::ostream& out);

/// Prints the metrics of one kernel, a line per architecture.
void print_metrics(const ArtifactMetrics& metrics, bool details, std::ostream& out);

/// Returns SARIF 2.1.0 with one result per violation and per kernel that could not be measured. The
/// location is the kernel's source line if it is known, otherwise its entry in gpuemu.toml,
/// otherwise the file; paths below `folder` are relative to it. `config` may be null.
std::string lint_sarif(const std::vector<LintResult>& results, const Config* config,
                       const std::string& folder);

}  // namespace gpuemu::cli
