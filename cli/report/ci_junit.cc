// JUnit XML of a CI run: one suite each for cases, limits and the baseline.
#include <algorithm>

#include "cli/report/ci_documents.h"
#include "cli/report/ci_findings.h"
#include "cli/report/junit_suite.h"
#include "cli/report/text.h"
#include "common/protocol/records.h"

namespace gpuemu::cli {
namespace {

std::string details_of(const CiFinding& finding, const ValidationFailure& failure) {
  const ValidationResult& result = *finding.group.smallest;
  std::string text = fmt::format("{}\nthe smallest:\nseed: {}\n", cases_text(finding), result.seed);
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

/// A test for each case that passed and one for each fault.
void add_results(const CiRunSummary& summary, JunitSuite& suite) {
  for (const ValidationResult& one : summary.validation_results) {
    if (one.passed || one.failures.empty()) suite.passed(one.op_name, one.duration_ms);
  }
  for (const CiFinding& finding : ci_findings(summary)) {
    const ValidationFailure failure = diagnosed(finding);
    suite.failed(finding.op_name, finding.group.smallest->duration_ms, name_of(failure.kind),
                 failure.message + reason_of(failure), details_of(finding, failure));
  }
  for (const CiOp& op : summary.ops) {
    const std::string name = fmt::format("{} {}", op.op_name, name_of(op.dtype));
    if (!op.error.empty()) suite.failed(name, 0, "NotRun", op.error, op.error);
    if (!op.skipped_reason.empty()) suite.skipped(name, op.skipped_reason);
    // Stored by an earlier version: without its cases, as one test that passed.
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
