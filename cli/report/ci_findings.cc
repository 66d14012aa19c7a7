#include "cli/report/ci_findings.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/core.h>

#include "cli/findings/finding_blocks.h"
#include "cli/findings/one_line.h"
#include "common/base/text.h"
#include "common/protocol/names.h"

namespace gpuemu::cli {
namespace {

std::vector<const ValidationResult*> failures_of(const CiRunSummary& summary,
                                                 const std::string& op) {
  std::vector<const ValidationResult*> failures;
  for (const ValidationResult& one : summary.validation_results) {
    if (!one.passed && one.op_name == op) failures.push_back(&one);
  }
  return failures;
}

/// A map with fewer elements does not show where they are wrong.
constexpr uint64_t kElementsWanted = 64;

/// Ranks cases; lower is better: wrong values first, then enough elements, then the smaller case.
std::tuple<bool, bool, uint64_t> rank_of(const ValidationResult& result) {
  if (!result.error_stats) return {true, true, 0};
  const ErrorStats& stats = *result.error_stats;
  const bool enough = stats.count >= kElementsWanted;
  return {stats.num_exceeding == 0, !enough, enough ? stats.count : UINT64_MAX - stats.count};
}

const ValidationResult* drawn_case(const FindingGroup& group,
                                   const std::vector<const ValidationResult*>& failures) {
  const ValidationResult* best = group.smallest;
  for (const ValidationResult* one : failures) {
    const bool has = std::ranges::any_of(one->failures, [&](const ValidationFailure& finding) {
      return is_same_fault(finding, *group.finding);
    });
    if (has && rank_of(*one) < rank_of(*best)) best = one;
  }
  return best;
}

void add_findings(const CiRunSummary& summary, const std::string& op, std::vector<CiFinding>& all) {
  const auto failures = failures_of(summary, op);
  uint64_t cases = 0, failed = 0;
  for (const CiOp& one : summary.ops) {
    if (one.op_name != op) continue;
    cases += one.cases;
    failed += one.failed;
  }
  cases = std::max<uint64_t>(cases, failures.size());
  const size_t first = all.size();
  std::vector<std::string> consequences;
  for (const FindingGroup& group : group_findings(failures)) {
    if (group.is_consequence) {
      consequences.push_back(
          fmt::format("{} ({})", name_of(group.finding->kind), counted(group.cases, "case")));
    } else {
      all.push_back({op, group, cases, failures.size() >= failed, {}, drawn_case(group, failures)});
    }
  }
  if (all.size() > first) all[first].consequences = std::move(consequences);
}

}  // namespace

std::vector<CiFinding> ci_findings(const CiRunSummary& summary) {
  std::vector<CiFinding> all;
  std::set<std::string> seen;
  for (const CiOp& op : summary.ops) {
    if (seen.insert(op.op_name).second) add_findings(summary, op.op_name, all);
  }
  // Summaries by other programs may list cases without their op.
  for (const ValidationResult& one : summary.validation_results) {
    if (!one.passed && seen.insert(one.op_name).second) add_findings(summary, one.op_name, all);
  }
  return all;
}

std::string cases_text(const CiFinding& finding) {
  return fmt::format("{}{} of {}", finding.all_listed ? "" : "at least ", finding.group.cases,
                     counted(finding.cases, "case"));
}

ValidationFailure diagnosed(const CiFinding& finding) {
  ValidationFailure failure = *finding.group.finding;
  if (!failure.diagnosis && finding.group.diagnosis != nullptr) {
    failure.diagnosis = *finding.group.diagnosis;
  }
  return failure;
}

std::string finding_line(const CiFinding& finding) {
  const ValidationFailure& one = *finding.group.finding;
  return fmt::format("[{}] {}: {}; {}", name_of(one.kind), one_line(finding.op_name),
                     cases_text(finding), parts_of(one).title);
}

}  // namespace gpuemu::cli
