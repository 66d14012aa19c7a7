// What cases reached of one kernel: text, lcov, Codecov, JSON, a page with the source.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/config/config.h"
#include "common/protocol/replies.h"

namespace gpuemu::cli {

/// Texts of source files by name, in lines; files that cannot be read are absent.
using Sources = std::map<std::string, std::vector<std::string>>;

/// Reads every file that the coverage names.
Sources sources_of(const KernelCoverageReply& coverage);

/// "text", "lcov", "codecov", "html" or "json". Names of files are relative to the project's
/// folder where they lie in it.
std::string kernel_coverage_text(const KernelCoverageReply& coverage, const Config& config,
                                 const Sources& sources, const std::string& format);

}  // namespace gpuemu::cli
