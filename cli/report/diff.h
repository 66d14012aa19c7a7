// Reports changes since a baseline, for users and for programs.
#pragma once

#include <optional>
#include <ostream>
#include <string>

#include "common/protocol/artifacts.gen.h"
#include "common/protocol/replies.gen.h"

namespace gpuemu::cli {

/// Either part may be missing: a baseline may hold results, metrics of kernels, or both.
struct Comparison {
  std::string tag;
  std::optional<ArtifactDiffSummary> artifacts;
  std::optional<BaselineComparisonReply> results;

  bool has_regressions() const {
    return (artifacts && artifacts->has_regressions) || (results && results->has_regressions);
  }
};

void print_comparison(const Comparison& comparison, std::ostream& out);
/// Returns {"baseline_tag", "has_regressions", "diffs": [...], "comparisons": [...]}.
std::string comparison_json(const Comparison& comparison);

/// Returns the text of a baseline file: indented, so that changes to it can be reviewed.
std::string baseline_file_text(const BaselineReply& baseline);
/// Parses a baseline file. InvalidArgument says what was expected; `file` names it in messages.
Result<BaselineReply> read_baseline_file(const std::string& text, const std::string& file);

}  // namespace gpuemu::cli
