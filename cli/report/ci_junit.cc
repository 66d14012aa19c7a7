// JUnit XML of a CI run: one suite each for cases, limits and the baseline.
#include <algorithm>

#include "cli/report/ci_documents.h"
#include "cli/report/ci_findings.h"
#include "cli/report/junit_suite.h"
#include "cli/report/text.h"
#include "common/protocol/layout_name.h"
#include "common/protocol/records.gen.h"

namespace gpuemu::cli {
namespace {

std::string details_of(const CiFinding& finding, const ValidationFailure& failure) {
  const ValidationResult& result = *finding.group.smallest;
  std::string text = fmt::format("{} have this fault, this is the smallest\nseed: {}\n",
                                 cases_text(finding), result.seed);
  if (result.repro_info) {
    const ReproductionInfo& info = *result.repro_info;
    text += fmt::format("shape: {}\ndtype: {}\nlayout: {}\n", to_string(info.shape),
                        name_of(info.dtype), lower_name_of(info.layout));
    for (const auto& [name, value] : info.dims) text += fmt::format("{} = {}\n", name, value);
  }
  text += fmt::format("max diff: {:g}\nmax rel diff: {:g}\nreplay: {}\n", result.max_diff,
                      result.max_rel_diff, replay_command(result));
  for (const ValidationFailure& other : result.failures) {
    if (!is_same_fault(other, failure)) text += describe(other) + "\n";
  }
  for (const std::string& one : finding.consequences) text += "the same cases also: " + one + "\n";
  if (failure.diagnosis) text += fmt::format("why: {}\n", why(failure));
  return text;
}

/// Returns the fault of a failing case: one whose smallest case it is, otherwise the first, because
/// causes come first. Null if it has no finding.
const CiFinding* fault_of(const ValidationResult& result, const std::vector<CiFinding>& faults) {
  const auto its_own = std::ranges::find_if(
      faults, [&](const CiFinding& fault) { return fault.group.smallest == &result; });
  if (its_own != faults.end()) return &*its_own;
  const auto found = std::ranges::find_if(faults, [&](const CiFinding& fault) {
    return fault.op_name == result.op_name &&
           std::ranges::any_of(result.failures, [&](const ValidationFailure& failure) {
             return is_same_fault(failure, *fault.group.finding);
           });
  });
  return found == faults.end() ? nullptr : &*found;
}

/// Adds a test for each case. The smallest case of a fault describes it in full; the others refer
/// to that one.
void add_results(const CiRunSummary& summary, JunitSuite& suite) {
  const std::vector<CiFinding> faults = ci_findings(summary);
  for (const ValidationResult& one : summary.validation_results) {
    const CiFinding* const fault = one.passed ? nullptr : fault_of(one, faults);
    if (fault == nullptr) {
      suite.passed(one.op_name, one.duration_ms);
      continue;
    }
    const ValidationFailure failure = diagnosed(*fault);
    const bool tells = fault->group.smallest == &one;
    suite.failed(one.op_name, one.duration_ms, name_of(failure.kind),
                 tells
                     ? failure.message + reason_of(failure)
                     : fmt::format("as case {}: {}", fault->group.smallest->seed, failure.message),
                 tells ? details_of(*fault, failure)
                       : fmt::format("seed: {}\n{} have this fault; seed {} is the smallest\n"
                                     "replay: {}\n",
                                     one.seed, cases_text(*fault), fault->group.smallest->seed,
                                     replay_command(one)));
  }
  for (const CiOp& op : summary.ops) {
    const std::string name = fmt::format("{} {}", op.op_name, name_of(op.dtype));
    if (!op.error.empty()) suite.failed(name, 0, "NotRun", op.error, op.error);
    if (!op.skipped_reason.empty()) suite.skipped(name, op.skipped_reason);
    // A verdict of an earlier version is stored without cases, and becomes one test that passed.
    const bool listed =
        std::ranges::find(summary.validation_results, op.op_name, &ValidationResult::op_name) !=
        summary.validation_results.end();
    if (op.cached && !listed) suite.passed(name, 0);
  }
  if (!summary.incomplete.empty()) {
    suite.failed("run", 0, "NotRun", "incomplete: " + summary.incomplete, summary.incomplete);
  }
}

void add_kernels(const CiRunSummary& summary, JunitSuite& suite) {
  for (const LintResult& one : summary.lint_results) {
    if (!one.error.empty()) {
      suite.failed(one.kernel_name, 0, "NotMeasured", one.error, one.error);
    } else if (one.violations.empty()) {
      suite.passed(one.kernel_name, 0);
    } else {
      std::string text = fmt::format(
          "registers: {}\nspills: {}\nlocal memory: {}\nshared memory: "
          "{}\ninstructions: {}\n",
          one.metrics.register_count, one.metrics.spill_count, one.metrics.local_memory_bytes,
          one.metrics.shared_memory_bytes, one.metrics.instruction_count);
      for (size_t i = 1; i < one.violations.size(); ++i) text += one.violations[i].message + "\n";
      suite.failed(one.kernel_name, 0, name_of(one.violations.front().kind),
                   one.violations.front().message, text);
    }
  }
}

void add_baseline(const CiRunSummary& summary, JunitSuite& suite) {
  if (!summary.artifact_diffs) return;
  for (const ArtifactDiff& one : summary.artifact_diffs->diffs) {
    if (!one.is_regression || summary.regressions_pass) {
      suite.passed(one.kernel_name, 0);
      continue;
    }
    suite.failed(one.kernel_name, 0, "Regression", regression_text(one),
                 fmt::format("registers: {:+}\nspills: {:+}\nlocal memory: {:+}\ninstructions: "
                             "{:+}\n",
                             one.register_delta, one.spill_delta, one.local_memory_delta,
                             one.instruction_delta));
  }
  for (const std::string& one : summary.artifact_diffs->missing) {
    if (summary.regressions_pass) {
      suite.skipped(one, kMissing);
    } else {
      suite.failed(one, 0, "Missing", kMissing, "");
    }
  }
  for (const BaselineComparison& one : summary.result_diffs) {
    if (!one.is_regression || summary.regressions_pass) continue;
    suite.failed(one.op_name, 0, "Regression", regression_text(one), "");
  }
}

}  // namespace

std::string ci_junit(const CiRunSummary& summary, const Config&) {
  JunitSuite cases("validation", "ops"), kernels("lint", "artifacts"),
      baseline("artifacts", "artifacts");
  add_results(summary, cases);
  add_kernels(summary, kernels);
  add_baseline(summary, baseline);
  JunitSuite& told = cases.tests() > 0 ? cases : kernels;
  for (const std::string& note : summary.notes) told.note(note);
  return junit_document({cases, kernels, baseline}, summary.duration_ms);
}

}  // namespace gpuemu::cli
