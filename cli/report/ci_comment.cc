// Writes Markdown for a comment on a merge request.
#include <algorithm>
#include <functional>

#include "cli/report/ci.h"
#include "cli/report/ci_documents.h"
#include "cli/report/ci_findings.h"
#include "cli/report/escape.h"
#include "cli/report/text.h"
#include "common/base/shell_word.h"

namespace gpuemu::cli {
namespace {

// GitHub accepts 65,536 characters; the tables share what the rest leaves.
constexpr size_t kCommentMax = 64'000;
constexpr size_t kRowsMax = 50;
constexpr size_t kCellMax = 300;
// A reason contains the values of every side and an instruction with its operands.
constexpr size_t kReasonMax = 800;

/// The rows of one table, as many as fit.
class Table {
 public:
  Table(const std::string& title, const std::string& header, const std::string& rule)
      : head_("\n### " + title + "\n\n" + header + "\n" + rule + "\n") {}

  void row(const std::vector<std::string>& cells) {
    ++rows_;
    if (rows_ > kRowsMax) return;
    for (const std::string& cell : cells) text_ += "| " + cell + " ";
    text_ += "|\n";
  }
  void append_to(std::string& comment) const {
    if (rows_ == 0) return;
    if (comment.size() + head_.size() + text_.size() > kCommentMax) {
      comment += fmt::format("{}\n{} rows do not fit in a comment.\n",
                             head_.substr(0, head_.find("\n\n")) + "\n", rows_);
      return;
    }
    comment += head_ + text_;
    if (rows_ > kRowsMax) comment += fmt::format("\nand {} more\n", rows_ - kRowsMax);
  }

 private:
  std::string head_, text_;
  size_t rows_ = 0;
};

std::string cell(const std::string& text) { return markdown_cell(text, kCellMax); }
std::string number(uint64_t value) { return std::to_string(value); }
std::string change(int64_t delta) { return fmt::format("{:+}", delta); }

/// Returns "scale.cu:3", without folders; "" if the finding has no line.
std::string place_of(const ValidationFailure& finding) {
  if (finding.source_line == 0) return "";
  const std::string& file = finding.source_file;
  const size_t slash = file.rfind('/');
  return fmt::format("{}:{}", slash == file.npos ? file : file.substr(slash + 1),
                     finding.source_line);
}

/// Returns one row per fault with its smallest case, however many cases it fails.
Table failures_of(const CiRunSummary& summary) {
  Table table("Failed cases", "| op | kind | max diff | seed | replay | where | fails in |",
              "| --- | --- | --- | --- | --- | --- | --- |");
  const auto add = [&](const ValidationResult& result, const char* kind, const std::string& cases,
                       const std::string& where) {
    table.row({cell(result.op_name), kind, fmt::format("{:.3e}", result.max_diff),
               number(result.seed), cell(replay_command(result)), cell(where), cell(cases)});
  };
  for (const CiFinding& one : ci_findings(summary)) {
    add(*one.group.smallest, name_of(one.group.finding->kind), cases_text(one),
        place_of(*one.group.finding));
  }
  for (const ValidationResult& one : summary.validation_results) {
    if (!one.passed && one.failures.empty()) add(one, "Unknown", "1 case", "");
  }
  return table;
}

Table evidence_of(const CiRunSummary& summary) {
  Table table("Evidence", "| op | cases | what those that pass prove |", "| --- | --- | --- |");
  for (const CiOp& op : summary.ops) {
    if (!op.evidence) continue;
    table.row({cell(fmt::format("{} {}", op.op_name, name_of(op.dtype))), number(op.cases),
               cell(evidence_text(*op.evidence))});
  }
  return table;
}

Table reasons_of(const CiRunSummary& summary) {
  Table table("Why they fail", "| op | kind | seed | why |", "| --- | --- | --- | --- |");
  for (const ValidationResult& one : summary.validation_results) {
    for (const ValidationFailure& failure : one.failures) {
      if (failure.diagnosis) {
        table.row({cell(one.op_name), name_of(failure.kind), number(one.seed),
                   markdown_cell(why(failure), kReasonMax)});
      }
    }
  }
  return table;
}

Table broken_of(const CiRunSummary& summary) {
  Table table("Could not be run", "| what | why |", "| --- | --- |");
  if (!summary.incomplete.empty()) table.row({"part of the run", cell(summary.incomplete)});
  for (const CiOp& op : summary.ops) {
    if (!op.error.empty()) {
      table.row({cell(fmt::format("{} {}", op.op_name, name_of(op.dtype))), cell(op.error)});
    }
  }
  for (const LintResult& one : summary.lint_results) {
    if (!one.error.empty()) table.row({cell(one.kernel_name), cell(one.error)});
  }
  return table;
}

Table violations_of(const CiRunSummary& summary) {
  Table table("Limits", "| kernel | kind | registers | spills | local memory | instructions | |",
              "| --- | --- | --- | --- | --- | --- | --- |");
  for (const LintResult& one : summary.lint_results) {
    for (const LintViolation& violation : one.violations) {
      table.row({cell(one.kernel_name), name_of(violation.kind), number(one.metrics.register_count),
                 number(one.metrics.spill_count), number(one.metrics.local_memory_bytes),
                 number(one.metrics.instruction_count), cell(violation.message)});
    }
  }
  return table;
}

Table regressions_of(const CiRunSummary& summary) {
  const std::string tag = summary.artifact_diffs ? summary.artifact_diffs->baseline_tag : "";
  Table table("Worse than " + cell(tag),
              "| kernel or op | registers | spills | local memory | instructions | |",
              "| --- | --- | --- | --- | --- | --- |");
  if (summary.artifact_diffs) {
    for (const ArtifactDiff& one : summary.artifact_diffs->diffs) {
      if (!one.is_regression) continue;
      table.row({cell(one.kernel_name), change(one.register_delta), change(one.spill_delta),
                 change(one.local_memory_delta), change(one.instruction_delta),
                 cell(regression_text(one))});
    }
  }
  if (summary.artifact_diffs) {
    for (const std::string& one : summary.artifact_diffs->missing) {
      table.row({cell(one), "", "", "", "", cell(kMissing)});
    }
  }
  for (const BaselineComparison& one : summary.result_diffs) {
    if (one.is_regression) {
      table.row({cell(one.op_name), "", "", "", "", cell(regression_text(one))});
    }
  }
  return table;
}

}  // namespace

std::string replay_command(const ValidationResult& result) {
  return fmt::format("gpuemu reproduce {} --op {}", result.seed, shell_word(result.op_name));
}

std::string regression_text(const ArtifactDiff& diff) {
  std::string text;
  for (const MetricChange& one : diff.changes) {
    if (one.verdict != MetricVerdict::Regression) continue;
    text += fmt::format("{}{}{} {:g} -> {:g}", text.empty() ? "" : ", ", one.metric,
                        one.arch.empty() ? "" : " on " + one.arch, one.before, one.after);
  }
  return text.empty() ? "grew" : text;
}

std::string regression_text(const BaselineComparison& comparison) {
  return fmt::format("seed {}: max diff {:.3e}, was {:.3e}{}", comparison.seed,
                     comparison.current_max_diff, comparison.baseline_max_diff.value_or(0),
                     comparison.current_passed ? "" : "; does not pass any more");
}

std::string verdict_text(const CiRunSummary& summary) {
  switch (verdict_of(summary)) {
    case CiVerdict::Broken:
      return "gpuemu: something could not be run";
    case CiVerdict::Findings:
      return "gpuemu: not ready to merge";
    case CiVerdict::Good:
      break;
  }
  return "gpuemu: all good";
}

std::string ci_comment(const CiRunSummary& summary, const Config&) {
  std::string comment =
      fmt::format("## {}\n\n{} passed, {} failed, {} skipped in {:.1f} s; {}\n",
                  verdict_text(summary), summary.passed, summary.failed, summary.skipped,
                  static_cast<double>(summary.duration_ms) / 1000, cell(origin_of(summary)));
  broken_of(summary).append_to(comment);
  failures_of(summary).append_to(comment);
  reasons_of(summary).append_to(comment);
  violations_of(summary).append_to(comment);
  regressions_of(summary).append_to(comment);
  evidence_of(summary).append_to(comment);
  std::string notes;
  for (const std::string& note : summary.notes) notes += "\n- " + cell(note);
  if (!notes.empty() && comment.size() + notes.size() < kCommentMax) comment += notes + "\n";
  return comment;
}

}  // namespace gpuemu::cli
