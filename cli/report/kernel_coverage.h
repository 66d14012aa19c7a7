// Reports what cases reached in one kernel: as text, lcov, Codecov, JSON, or a page with the
// source.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

/// The lines of source files, by name; files that cannot be read are absent.
using Sources = std::map<std::string, std::vector<std::string>>;

/// Reads every file that the coverage refers to.
Sources sources_of(const KernelCoverageReply& coverage);

/// `format` is "text", "lcov", "codecov", "html" or "json". File names are relative to the
/// project's folder if they are in it.
std::string kernel_coverage_text(const KernelCoverageReply& coverage, const Config& config,
                                 const Sources& sources, const std::string& format);

}  // namespace gpuemu::cli
