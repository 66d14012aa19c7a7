#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/report/ci.h"
#include "cli/report/diff.h"
#include "cli/report/lint.h"
#include "cli/report/text.h"
#include "common/base/shell_word.h"
#include "common/base/text.h"
#include "common/protocol/ci.h"

namespace gpuemu::cli {
namespace {

// The most regressions of single cases shown; the counts include all.
constexpr size_t kCasesShown = 10;

bool is_failure_of(const ValidationResult& one, const CiOp& op) {
  return !one.passed && one.op_name == op.op_name &&
         (!one.repro_info || !one.repro_info->base_seed || one.repro_info->dtype == op.dtype);
}

std::string failure_of(const CiRunSummary& summary, const CiOp& op) {
  const ValidationResult* first = first_failure(summary, op);
  if (first == nullptr) return "";
  std::string text;
  if (!first->failures.empty()) text = "; " + describe(first->failures.front());
  if (!first->repro_info) return text;
  std::string drawn;
  for (const auto& [name, value] : first->repro_info->dims) {
    drawn += fmt::format(" {}={}", name, value);
  }
  const std::string values = values_text(*first->repro_info);
  if (!values.empty()) drawn += " " + values;
  return drawn.empty() ? text : text + "; case:" + drawn;
}

/// Returns "[FAIL] NAME (seed: S): 59 of 64 float32 cases", without the end of the line.
std::string fail_line(const CiRunSummary& summary, const CiOp& op) {
  const ValidationResult* first = first_failure(summary, op);
  return fmt::format("[FAIL] {} (seed: {}): {} of {}", one_line(op.op_name),
                     first == nullptr ? summary.seed : first->seed, op.failed,
                     counted(op.cases, fmt::format("{} case", name_of(op.dtype))));
}

std::string op_line(const CiRunSummary& summary, const CiOp& op) {
  const std::string name = one_line(op.op_name);
  if (!op.error.empty()) {
    return fmt::format("[ERROR] {} {}: {}\n", name, name_of(op.dtype), one_line(op.error));
  }
  if (op.failed > 0) {
    return fail_line(summary, op) + failure_of(summary, op) + "\n";
  }
  if (!op.skipped_reason.empty()) {
    return fmt::format("[SKIP] {} {}: {}\n", name, name_of(op.dtype), one_line(op.skipped_reason));
  }
  // Stored results do not record how much of the permitted error was used.
  const std::string error =
      summary.profile == kStored ? "" : ", " + error_use_text(op.bound_ratio_max);
  return fmt::format("[PASS] {} {} {}{}{}{}\n", name, name_of(op.dtype), counted(op.cases, "case"),
                     op.replayed > 0 ? fmt::format(" ({} stored)", op.replayed) : "",
                     op.cached ? ", unchanged since they passed" : "", error);
}

/// Returns the listed failing cases of an op in its dtype.
OpFailures failures_of(const CiRunSummary& summary, const CiOp& op) {
  OpFailures all{.failures = {}, .failed = op.failed, .cases = op.cases};
  for (const ValidationResult& one : summary.validation_results) {
    if (is_failure_of(one, op)) all.failures.push_back(&one);
  }
  return all;
}

bool has_failed(const CiOp& op) { return op.failed > 0 || !op.error.empty(); }

void print_baseline(const CiRunSummary& summary, std::ostream& out, std::ostream& err) {
  if (!summary.artifact_diffs) return;
  std::ostringstream text;
  print_comparison({summary.artifact_diffs->baseline_tag, summary.artifact_diffs, std::nullopt},
                   text);
  size_t worse = 0;
  for (const BaselineComparison& one : summary.result_diffs) {
    if (!one.is_regression || ++worse > kCasesShown) continue;
    text << fmt::format("[regression] {} seed {}: largest difference {:.3g}, was {:.3g}\n",
                        one_line(one.op_name), one.seed, one.current_max_diff,
                        one.baseline_max_diff.value_or(0));
  }
  text << fmt::format("{} compared with baseline {}: {}\n",
                      counted(summary.result_diffs.size(), "case"),
                      one_line(summary.artifact_diffs->baseline_tag), counted(worse, "regression"));
  out << text.str();
  const std::vector<std::string>& missing = summary.artifact_diffs->missing;
  if (!missing.empty() && !summary.regressions_pass) {
    err << fmt::format(
        "gpuemu: {} of baseline {} {} not in this run: {}; if they are meant to be gone, save the "
        "baseline again: gpuemu baseline save {}\n",
        missing.size(), one_line(summary.artifact_diffs->baseline_tag),
        missing.size() == 1 ? "is" : "are", one_line(fmt::format("{}", fmt::join(missing, ", "))),
        one_line(shell_word(summary.artifact_diffs->baseline_tag)));
  }
  if (has_regressions(summary) && !summary.regressions_pass) {
    err << "gpuemu: worse than baseline " << one_line(summary.artifact_diffs->baseline_tag) << '\n';
  }
}

/// Prints ops with their findings; [FAIL] lines omit the first finding if findings are shown as
/// blocks.
void print_ops(const CiRunSummary& summary, const ReportStyle& style, std::ostream& out,
               std::ostream& err) {
  std::vector<const Evidence*> proofs;
  for (const CiOp& op : summary.ops) {
    const bool has_evidence = op.evidence && op.error.empty();
    if (has_evidence) proofs.push_back(&*op.evidence);
    const std::string line = op_line(summary, op);
    if (has_failed(op)) err << line;
    if (style.blocks && op.failed > 0 && op.error.empty()) {
      out << fail_line(summary, op) << "\n\n"
          << finding_blocks(failures_of(summary, op), style.block) << '\n';
    } else {
      out << line;
    }
    if (has_evidence && !style.compact) out << evidence_line(*op.evidence);
  }
  if (!style.blocks) {
    for (const ValidationResult& one : summary.validation_results) print_reasons(one, out);
  }
  const std::string evidence = style.compact ? evidence_summary(proofs) : "";
  if (!evidence.empty()) out << evidence << " (-v: op by op)\n";
}

void print_coverage(const CiRunSummary& summary, std::ostream& out) {
  std::map<std::string, std::pair<size_t, size_t>> files;
  for (const CoveredLine& line : summary.coverage) {
    auto& [ran, all] = files[line.file];
    ++all;
    if (line.hits > 0) ++ran;
  }
  for (const auto& [file, counts] : files) {
    out << fmt::format("covered {} of {} of {}\n", counts.first, counted(counts.second, "line"),
                       one_line(file));
  }
}

}  // namespace

CiVerdict verdict_of(const CiRunSummary& summary) {
  if (is_broken(summary)) return CiVerdict::Broken;
  const bool worse = has_regressions(summary) && !summary.regressions_pass;
  return summary.failed > 0 || worse ? CiVerdict::Findings : CiVerdict::Good;
}

const ValidationResult* first_failure(const CiRunSummary& summary, const CiOp& op) {
  const auto found =
      std::ranges::find_if(summary.validation_results,
                           [&](const ValidationResult& one) { return is_failure_of(one, op); });
  return found == summary.validation_results.end() ? nullptr : &*found;
}

void print_ci(const CiRunSummary& summary, bool details, const ReportStyle& style,
              std::ostream& out, std::ostream& err) {
  print_ops(summary, style, out, err);
  if (!summary.lint_results.empty()) {
    print_lint(summary.lint_results, details, out, &err);
  }
  print_baseline(summary, out, err);
  print_coverage(summary, out);
  if (!summary.incomplete.empty()) {
    out << "[ERROR] incomplete: " << one_line(summary.incomplete) << '\n';
  }
  for (const std::string& note : summary.notes) out << "note: " << one_line(note) << '\n';
  const auto cached = static_cast<size_t>(
      std::ranges::count_if(summary.ops, [](const CiOp& op) { return op.cached; }));
  if (cached + summary.kernels_cached > 0) {
    out << fmt::format("unchanged: {} of {} by dtype, {} of {}\n", cached,
                       counted(summary.ops.size(), "op"), summary.kernels_cached,
                       counted(summary.lint_results.size(), "kernel"));
  }
  out << fmt::format("{} in {:.1f} s; {}\n",
                     counts_text(summary.passed, summary.failed, summary.skipped, 0),
                     static_cast<double>(summary.duration_ms) / 1000, one_line(origin_of(summary)));
}

std::string origin_of(const CiRunSummary& summary) {
  if (summary.profile == kStored) return "stored results";
  return fmt::format(
      "profile {}{}, base seed {}, {}", summary.profile,
      summary.shards > 0 ? fmt::format(" shard {}/{}", summary.shard, summary.shards) : "",
      summary.seed, summary.device);
}

}  // namespace gpuemu::cli
