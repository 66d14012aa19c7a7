// Writes a self-contained page: no script, style sheet or image from elsewhere.
#include <algorithm>
#include <map>

#include "cli/report/ci.h"
#include "cli/report/ci_documents.h"
#include "cli/report/escape.h"
#include "cli/report/html_charts.h"
#include "cli/report/html_findings.h"
#include "cli/report/html_style.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

// The most rows of one table; the JSON has all of them.
constexpr size_t kRowsMax = 500;
constexpr size_t kCellMax = 600;

std::string cell(const std::string& text) { return markup(clipped(text, kCellMax)); }

std::string verdict_cell(const CiOp& op) {
  if (!op.error.empty()) return "<td class=\"bad\">not run</td>";
  if (op.failed > 0) return "<td class=\"bad\">failed</td>";
  if (!op.skipped_reason.empty()) return "<td class=\"mute\">skipped</td>";
  return op.cached ? "<td class=\"good\">passed before</td>" : "<td class=\"good\">passed</td>";
}

/// Returns the largest relative difference in the op's listed cases.
double largest_relative(const CiRunSummary& summary, const CiOp& op) {
  double largest = 0;
  for (const ValidationResult& one : summary.validation_results) {
    if (one.op_name == op.op_name) largest = std::max(largest, one.max_rel_diff);
  }
  return largest;
}

std::string ops_table(const CiRunSummary& summary) {
  if (summary.ops.empty()) return "";
  std::string html =
      "<h2>Ops</h2><div class=\"scroll\"><table><tr><th>op</th><th>dtype</th><th>verdict</th><th "
      "class=\"n\">passed</th><th class=\"n\">largest difference</th><th class=\"n\">relative</th>"
      "<th class=\"n\">of the error bound</th><th>first failing seed, or why</th></tr>\n";
  for (const CiOp& op : summary.ops) {
    const ValidationResult* first = first_failure(summary, op);
    const std::string why = !op.error.empty()                   ? op.error
                            : op.failed > 0 && first != nullptr ? fmt::format("{}", first->seed)
                                                                : op.skipped_reason;
    html += fmt::format(
        "<tr><td>{}</td><td>{}</td>{}<td class=\"n\">{} / {}</td><td class=\"n\">{:.3g}</td><td "
        "class=\"n\">{:.3g}</td><td class=\"n\">{:.3g}</td><td>{}</td></tr>\n",
        cell(op.op_name), name_of(op.dtype), verdict_cell(op), op.passed, op.cases, op.max_diff,
        largest_relative(summary, op), op.bound_ratio_max, cell(why));
  }
  return html + "</table></div>\n";
}

std::string evidence_table(const CiRunSummary& summary) {
  std::string rows;
  for (const CiOp& op : summary.ops) {
    if (!op.evidence) continue;
    rows +=
        fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", cell(op.op_name),
                    name_of(op.dtype), share_bar(op.evidence->telling, op.evidence->judged, "yes"),
                    cell(evidence_text(*op.evidence)));
  }
  if (rows.empty()) return "";
  return "<details><summary>What passing proves</summary><div "
         "class=\"scroll\"><table><tr><th>op</th><th>dtype</th><th>cases that tell</th>"
         "<th>how much</th></tr>\n" +
         rows + "</table></div></details>\n";
}

std::string failures_table(const CiRunSummary& summary) {
  std::string rows;
  size_t count = 0;
  for (const ValidationResult& one : summary.validation_results) {
    if (one.passed || ++count > kRowsMax) continue;
    rows += fmt::format(
        "<tr><td>{}</td><td class=\"bad\">{}</td><td>{}</td><td class=\"n\">{:.3g}</td><td><code>{}"
        "</code></td></tr>\n",
        cell(one.op_name), one.failures.empty() ? "" : name_of(one.failures.front().kind),
        one.failures.empty()
            ? ""
            : cell(describe(one.failures.front()) + reason_of(one.failures.front())),
        one.max_diff, cell(replay_command(one)));
  }
  if (count == 0) return "";
  if (count > kRowsMax) rows += fmt::format("<tr><td>and {} more</td></tr>\n", count - kRowsMax);
  return "<details><summary>Failed cases, one by one</summary><div "
         "class=\"scroll\"><table><tr><th>op</th><th>kind</th><th>what</th><th "
         "class=\"n\">largest difference</th><th>again</th></tr>\n" +
         rows + "</table></div></details>\n";
}

std::string kernels_table(const CiRunSummary& summary) {
  if (summary.lint_results.empty()) return "";
  std::string html =
      "<h2>Kernels</h2><div "
      "class=\"scroll\"><table><tr><th>kernel</th><th>verdict</th><th>arch</th><th "
      "class=\"n\">registers</th><th class=\"n\">spilled</th><th class=\"n\">stack</th><th "
      "class=\"n\">shared</th><th class=\"n\">occupancy</th><th>limits</th></tr>\n";
  for (const LintResult& one : summary.lint_results) {
    std::string text = one.error;
    for (const LintViolation& violation : one.violations) text += violation.message + " ";
    std::string numbers = "<td></td><td></td><td></td><td></td><td></td><td></td>";
    if (!one.metrics.compiled.empty()) {
      const CompiledMetrics& made = one.metrics.compiled.front();
      numbers = fmt::format(
          "<td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td "
          "class=\"n\">{}</td><td class=\"n\">{}</td>",
          cell(made.arch), made.registers, made.spill_store_bytes + made.spill_load_bytes,
          made.stack_bytes, made.shared_bytes,
          made.occupancy ? fmt::format("{:.2f}", made.occupancy->fraction) : "");
    }
    html += fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td>{}<td>{}</td></tr>\n",
                        cell(one.kernel_name), one.passed ? "good" : "bad",
                        !one.error.empty() ? "not measured"
                        : one.passed       ? "within"
                                           : "beyond",
                        numbers, cell(text));
  }
  return html + "</table></div>\n";
}

std::string trend_section(const CiRunSummary& summary) {
  if (!summary.artifact_diffs) return "";
  std::string missing;
  for (const std::string& one : summary.artifact_diffs->missing) {
    missing += fmt::format("<p class=\"bad\">{}: {}</p>\n", cell(one), cell(kMissing));
  }
  const std::string chart = trend_chart(*summary.artifact_diffs);
  return fmt::format("<h2>Since baseline {}</h2>\n", cell(summary.artifact_diffs->baseline_tag)) +
         missing + (chart.empty() ? "<p>No number of a kernel has changed.</p>\n" : chart);
}

std::string history_section(const CiRunSummary& summary) {
  if (summary.trends.empty()) return "";
  const std::string rows = trend_lines(summary.trends);
  if (rows.empty()) {
    const bool is_one = summary.trends.size() == 1;
    return fmt::format("<h2>Over time</h2><p>The numbers of {} kernel{} have never changed.</p>\n",
                       summary.trends.size(), is_one ? "" : "s");
  }
  return "<h2>Over time</h2><div "
         "class=\"scroll\"><table><tr><th>kernel</th><th>arch</th><th>number</th><th "
         "class=\"n\">first</th><th>baselines and runs where it changed</th><th "
         "class=\"n\">now</th></tr>\n" +
         rows + "</table></div>\n";
}

std::string coverage_section(const CiRunSummary& summary) {
  std::map<std::string, std::pair<size_t, size_t>> files;
  std::map<std::string, std::string> missed;
  for (const CoveredLine& line : summary.coverage) {
    auto& [ran, all] = files[line.file];
    ++all;
    if (line.hits > 0) ++ran;
    if (line.hits == 0) missed[line.file] += fmt::format(" {}", line.line);
  }
  if (files.empty()) return "";
  std::string html =
      "<h2>Lines that ran</h2><div class=\"scroll\"><table><tr><th>source</th><th "
      "class=\"n\">lines</th><th></th><th>not "
      "reached</th></tr>\n";
  for (const auto& [file, counts] : files) {
    html += fmt::format("<tr><td>{}</td><td class=\"n\">{} / {}</td><td>{}</td><td>{}</td></tr>\n",
                        cell(file), counts.first, counts.second,
                        share_bar(counts.first, counts.second, "yes"), cell(missed[file]));
  }
  return html + "</table></div>\n";
}

}  // namespace

std::string ci_html(const CiRunSummary& summary, const Config& config,
                    const CasePictures& pictures) {
  const bool good = verdict_of(summary) == CiVerdict::Good;
  const uint64_t judged = summary.passed + summary.failed;
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"><meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\"><title>{} - {}</title><style>{}</style></head><body>\n<h1 "
      "class=\"{}\">{}</h1>\n<p>{}{}: {} passed, {} failed, {} skipped in {:.1f} s; {}</p>\n",
      cell(config.name), verdict_text(summary), kPageStyle, good ? "good" : "bad",
      verdict_text(summary), judged == 0 ? "" : share_bar(summary.passed, judged, "yes"),
      cell(config.name), summary.passed, summary.failed, summary.skipped,
      static_cast<double>(summary.duration_ms) / 1000, cell(origin_of(summary)));
  if (!summary.incomplete.empty()) {
    html += "<p class=\"bad\">incomplete: " + cell(summary.incomplete) + "</p>\n";
  }
  html += findings_sections(summary, pictures, config.folder) + ops_table(summary) +
          failures_table(summary) + evidence_table(summary) + kernels_table(summary) +
          trend_section(summary) + history_section(summary) + coverage_section(summary);
  for (const std::string& note : summary.notes) {
    html += "<p class=\"mute\">" + cell(note) + "</p>\n";
  }
  return html + "</body></html>\n";
}

}  // namespace gpuemu::cli
