// JUnit XML of a CI run: one suite each for cases, limits and the baseline.
#include <algorithm>

#include "cli/report/ci_documents.h"
#include "cli/report/escape.h"
#include "cli/report/text.h"
#include "common/protocol/records.h"

namespace gpuemu::cli {
namespace {

// Text of one failure; the readers of these files are web pages.
constexpr size_t kTextMax = 8192;

std::string seconds(uint64_t milliseconds) {
  return fmt::format("{}.{:03}", milliseconds / 1000, milliseconds % 1000);
}

/// Test cases of one suite with their counts.
class Suite {
 public:
  explicit Suite(std::string name, std::string classname)
      : name_(std::move(name)), classname_(std::move(classname)) {}

  void passed(const std::string& name, uint64_t ms) {
    open(name, ms);
    text_ += "/>\n";
  }
  void failed(const std::string& name, uint64_t ms, const std::string& type,
              const std::string& message, const std::string& text) {
    ++failures_;
    open(name, ms);
    text_ += fmt::format(
        ">\n      <failure type=\"{}\" message=\"{}\">{}</failure>\n    </testcase>\n",
        markup(type), markup(clipped(message, kTextMax)), markup(clipped(text, kTextMax)));
  }
  void skipped(const std::string& name, const std::string& why) {
    ++skipped_;
    open(name, 0);
    text_ += fmt::format(">\n      <skipped message=\"{}\"/>\n    </testcase>\n", markup(why));
  }
  /// What the reader should know beside the tests.
  void note(const std::string& text) { notes_ += markup(clipped(text, kTextMax)) + "\n"; }
  size_t failures() const { return failures_; }
  size_t tests() const { return tests_; }

  /// "" when it has no test.
  std::string xml() const {
    if (tests_ == 0) return "";
    return fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\" "
        "time=\"{}\">\n{}{}  </testsuite>\n",
        name_, tests_, failures_, skipped_, seconds(ms_), text_,
        notes_.empty() ? "" : "    <system-out>" + notes_ + "</system-out>\n");
  }

 private:
  void open(const std::string& name, uint64_t ms) {
    ++tests_;
    ms_ += ms;
    text_ += fmt::format("    <testcase name=\"{}\" classname=\"{}\" time=\"{}\"", markup(name),
                         classname_, seconds(ms));
  }

  std::string name_, classname_, text_, notes_;
  size_t tests_ = 0, failures_ = 0, skipped_ = 0;
  uint64_t ms_ = 0;
};

std::string details_of(const ValidationResult& result) {
  std::string text = fmt::format("seed: {}\n", result.seed);
  if (result.repro_info) {
    const ReproductionInfo& info = *result.repro_info;
    text += fmt::format("shape: {}\ndtype: {}\nlayout: {}\n", to_string(info.shape),
                        name_of(info.dtype), lower_name_of(info.layout));
    for (const auto& [name, value] : info.dims) text += fmt::format("{} = {}\n", name, value);
  }
  text += fmt::format("max diff: {:g}\nmax rel diff: {:g}\nreplay: {}\n", result.max_diff,
                      result.max_rel_diff, replay_command(result));
  for (size_t i = 1; i < result.failures.size(); ++i) text += describe(result.failures[i]) + "\n";
  for (const ValidationFailure& failure : result.failures) {
    if (failure.diagnosis) text += fmt::format("why {}: {}\n", name_of(failure.kind), why(failure));
  }
  return text;
}

void add_results(const CiRunSummary& summary, Suite& suite) {
  for (const ValidationResult& one : summary.validation_results) {
    if (one.passed || one.failures.empty()) {
      suite.passed(one.op_name, one.duration_ms);
      continue;
    }
    const ValidationFailure& first = one.failures.front();
    suite.failed(one.op_name, one.duration_ms, name_of(first.kind),
                 first.message + reason_of(first), details_of(one));
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

void add_kernels(const CiRunSummary& summary, Suite& suite) {
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

void add_baseline(const CiRunSummary& summary, Suite& suite) {
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
  Suite cases("validation", "ops"), kernels("lint", "artifacts"),
      baseline("artifacts", "artifacts");
  add_results(summary, cases);
  add_kernels(summary, kernels);
  add_baseline(summary, baseline);
  Suite& told = cases.tests() > 0 ? cases : kernels;
  for (const std::string& note : summary.notes) told.note(note);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"gpuemu\" tests=\"{}\" "
      "failures=\"{}\" errors=\"0\" time=\"{}\">\n{}{}{}</testsuites>\n",
      cases.tests() + kernels.tests() + baseline.tests(),
      cases.failures() + kernels.failures() + baseline.failures(), seconds(summary.duration_ms),
      cases.xml(), kernels.xml(), baseline.xml());
}

}  // namespace gpuemu::cli
