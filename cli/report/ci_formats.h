// Every document that a CI run can become, by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report/case_pictures.h"
#include "common/config/config.h"
#include "common/protocol/ci.h"

namespace gpuemu::cli {

/// "text", "json" ...; `alias` spellings of existing tools ("xml", "pr_comment") become the name.
/// Nothing for an unknown one.
std::optional<std::string> ci_format(const std::string& word);
/// The names, in the order of the documentation.
std::vector<std::string> ci_formats();

/// The whole document. REQUIRES: `format` is one of ci_formats(), any but "text", "short" and
/// "full" as on a terminal. Pages show `pictures`.
std::string render_ci(const std::string& format, const CiRunSummary& summary, const Config& config,
                      const CasePictures& pictures = {});

}  // namespace gpuemu::cli
