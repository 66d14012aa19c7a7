#include "common/protocol/ci.h"

#include <algorithm>

namespace gpuemu {

bool CiRunSummary::has_regressions() const {
  return (artifact_diffs && artifact_diffs->has_regressions) ||
         std::ranges::any_of(result_diffs, &BaselineComparison::is_regression);
}

bool CiRunSummary::is_broken() const {
  return !incomplete.empty() || std::ranges::any_of(ops, [](const CiOp& op) {
    return !op.error.empty();
  }) || std::ranges::any_of(lint_results, [](const LintResult& one) { return !one.error.empty(); });
}

}  // namespace gpuemu
