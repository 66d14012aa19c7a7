#include "common/protocol/ci.h"

#include <algorithm>

namespace gpuemu {

bool has_regressions(const CiRunSummary& summary) {
  return (summary.artifact_diffs && summary.artifact_diffs->has_regressions) ||
         std::ranges::any_of(summary.result_diffs, &BaselineComparison::is_regression);
}

bool is_broken(const CiRunSummary& summary) {
  const auto has_error = [](const auto& one) { return !one.error.empty(); };
  return !summary.incomplete.empty() || std::ranges::any_of(summary.ops, has_error) ||
         std::ranges::any_of(summary.lint_results, has_error);
}

}  // namespace gpuemu
