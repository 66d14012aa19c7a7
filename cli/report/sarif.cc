// Writes violations, and all findings of a CI run, as SARIF.
#include "cli/findings/source_excerpt.h"
#include "cli/report/ci_documents.h"
#include "cli/report/ci_findings.h"
#include "cli/report/lint.h"
#include "cli/report/sarif_log.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

SarifPlace place_of(const LintResult& result, const LintViolation* violation,
                    const Config* config) {
  if (violation != nullptr && violation->source_line > 0 && !violation->source_file.empty()) {
    return {violation->source_file, violation->source_line};
  }
  const std::string own = result.kernel_name.substr(0, result.kernel_name.find(':'));
  const KernelConfig* kernel = config == nullptr ? nullptr : config->find_kernel(own);
  if (kernel != nullptr && kernel->line > 0 && kernel->source == result.source) {
    return {kernel->file, kernel->line};
  }
  return {result.source.empty() ? "gpuemu.toml" : result.source, 1};
}

void add_lint(const LintResult& result, const Config* config, SarifLog& log) {
  for (const LintViolation& violation : result.violations) {
    const std::string kind = name_of(violation.kind);
    log.add({"lint/" + kind, violation.message, result.kernel_name,
             place_of(result, &violation, config), "kindAndKernel",
             kind + ":" + result.kernel_name});
  }
  if (result.error.empty()) return;
  log.add({"lint/NotMeasured", result.kernel_name + ": " + result.error, result.kernel_name,
           place_of(result, nullptr, config), "kindAndKernel",
           "NotMeasured:" + result.kernel_name});
}

SarifPlace place_of(const std::string& op_name, const ValidationFailure* failure,
                    const Config& config) {
  if (failure != nullptr && failure->source_line > 0 && failure->source_file.starts_with("/")) {
    return {failure->source_file, failure->source_line};
  }
  const OpConfig* op = config.find_op(op_name);
  if (op != nullptr && op->line > 0) return {op->file, op->line};
  return {config.file.empty() ? "gpuemu.toml" : config.file, 1};
}

/// Returns text that distinguishes faults of one kind in one op and does not change when lines
/// move: the source line.
std::string code_of(const ValidationFailure& failure) {
  if (failure.source_line == 0) return failure.output;
  const auto lines = source_lines(failure.source_file, failure.source_line, 0);
  return lines.empty() ? fmt::format("line {}", failure.source_line) : lines.front().text;
}

void add_finding(const CiFinding& finding, const Config& config, SarifLog& log) {
  const ValidationFailure failure = diagnosed(finding);
  const ValidationResult& smallest = *finding.group.smallest;
  const std::string kind = name_of(failure.kind);
  const std::string message = fmt::format(
      "{}: {}; {}; max diff {:.3e}; replay: {}", finding.op_name, cases_text(finding),
      describe(failure) + reason_of(failure), smallest.max_diff, replay_command(smallest));
  const std::string kind_and_op = kind + ":" + finding.op_name;
  SarifFinding made{"validation/" + kind, message,
                    finding.op_name,      place_of(finding.op_name, &failure, config),
                    "kindOpAndCode",      kind_and_op + ":" + code_of(failure)};
  made.more_fingerprints.emplace("kindAndOp", kind_and_op);
  log.add(made);
}

void add_cases(const CiRunSummary& summary, const Config& config, SarifLog& log) {
  for (const CiFinding& finding : ci_findings(summary)) add_finding(finding, config, log);
  for (const CiOp& op : summary.ops) {
    if (op.error.empty()) continue;
    log.add({"validation/NotRun", op.op_name + ": " + op.error, op.op_name,
             place_of(op.op_name, nullptr, config), "kindAndOp", "NotRun:" + op.op_name});
  }
  if (summary.incomplete.empty()) return;
  log.add({"validation/NotRun",
           "the run is incomplete: " + summary.incomplete,
           "run",
           {config.file.empty() ? "gpuemu.toml" : config.file, 1},
           "kindAndOp",
           "NotRun:run"});
}

void add_regressions(const CiRunSummary& summary, const Config& config, SarifLog& log) {
  if (!summary.artifact_diffs || summary.regressions_pass) return;
  const std::string& tag = summary.artifact_diffs->baseline_tag;
  for (const ArtifactDiff& diff : summary.artifact_diffs->diffs) {
    if (!diff.is_regression) continue;
    const KernelConfig* kernel =
        config.find_kernel(diff.kernel_name.substr(0, diff.kernel_name.find(':')));
    const SarifPlace place =
        kernel == nullptr ? SarifPlace{config.file, 1} : SarifPlace{kernel->file, kernel->line};
    log.add({"lint/Regression",
             fmt::format("{} is worse than {}: {}", diff.kernel_name, tag, regression_text(diff)),
             diff.kernel_name, place, "kernelAndBaseline", diff.kernel_name + ":" + tag});
  }
  for (const std::string& one : summary.artifact_diffs->missing) {
    log.add({"lint/Missing",
             fmt::format("{}: {} ({})", one, kMissing, tag),
             one,
             {config.file.empty() ? "gpuemu.toml" : config.file, 1},
             "kernelAndBaseline",
             "missing " + one + ":" + tag});
  }
  for (const BaselineComparison& one : summary.result_diffs) {
    if (!one.is_regression) continue;
    log.add({"validation/Regression",
             fmt::format("{} is worse than {}: {}", one.op_name, tag, regression_text(one)),
             one.op_name, place_of(one.op_name, nullptr, config), "opAndBaseline",
             one.op_name + ":" + tag});
  }
}

}  // namespace

std::string lint_sarif(const std::vector<LintResult>& results, const Config* config,
                       const std::string& folder) {
  SarifLog log(folder);
  for (const LintResult& result : results) add_lint(result, config, log);
  return log.text();
}

std::string ci_sarif(const CiRunSummary& summary, const Config& config) {
  SarifLog log(config.folder);
  add_cases(summary, config, log);
  for (const LintResult& result : summary.lint_results) add_lint(result, &config, log);
  add_regressions(summary, config, log);
  for (const std::string& note : summary.notes) log.note(note);
  return log.text() + "\n";
}

}  // namespace gpuemu::cli
