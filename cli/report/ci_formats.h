// All document formats of a CI run, by name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/report/case_pictures.h"
#include "common/config/config.h"
#include "common/protocol/ci.gen.h"

namespace gpuemu::cli {

/// Returns "text", "json" and so on; spellings of existing tools ("xml", "pr_comment") are
/// converted. Returns nothing for an unknown format.
std::optional<std::string> ci_format(const std::string& word);
/// Returns the names in the order of the documentation.
std::vector<std::string> ci_formats();

/// Returns the whole document; "text", "short" and "full" look as on a terminal. Pages show
/// `pictures`. REQUIRES: `format` is one of ci_formats().
std::string render_ci(const std::string& format, const CiRunSummary& summary, const Config& config,
                      const CasePictures& pictures = {});

}  // namespace gpuemu::cli
