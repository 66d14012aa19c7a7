#include "cli/report/diff.h"

#include "cli/report/text.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

std::string change_text(const MetricChange& change) {
  std::string text = change.metric;
  if (!change.arch.empty()) text += " on " + change.arch;
  text += fmt::format(" {:g} -> {:g}", change.before, change.after);
  if (change.percent) text += fmt::format(" ({:+.1f} %)", *change.percent);
  return text;
}

void print_kernel(const ArtifactDiff& diff, std::ostream& out) {
  for (const MetricChange& change : diff.changes) {
    out << fmt::format("[{}] {}: {}\n", name_of(change.verdict), one_line(diff.kernel_name),
                       one_line(change_text(change)));
  }
  for (const std::string& constant : diff.constants) {
    out << fmt::format("[constant] {}: {}\n", one_line(diff.kernel_name), one_line(constant));
  }
}

void print_artifacts(const ArtifactDiffSummary& summary, std::ostream& out) {
  size_t same = 0, fresh = 0;
  for (const ArtifactDiff& diff : summary.diffs) {
    print_kernel(diff, out);
    if (!diff.baseline) ++fresh;
    if (diff.baseline && diff.changes.empty() && diff.constants.empty()) ++same;
  }
  for (const std::string& kernel : summary.missing) {
    out << fmt::format("[missing] {}: in the baseline, not measured now\n", one_line(kernel));
  }
  out << fmt::format("{} compared with baseline {}: {} unchanged, {} new, {}\n",
                     counted(summary.diffs.size(), "kernel"), one_line(summary.baseline_tag), same,
                     fresh, summary.has_regressions ? "regressions" : "no regression");
}

void print_results(const BaselineComparisonReply& reply, std::ostream& out) {
  for (const BaselineComparison& one : reply.comparisons) {
    if (!one.is_regression) continue;
    out << fmt::format("[regression] {} seed {}: max_diff {:.3e}, was {:.3e}{}\n",
                       one_line(one.op_name), one.seed, one.current_max_diff,
                       one.baseline_max_diff.value_or(0),
                       one.current_passed ? "" : ", does not pass any more");
  }
  out << fmt::format("{} compared with baseline {}: {}\n",
                     counted(reply.comparisons.size(), "result"), one_line(reply.baseline_tag),
                     reply.has_regressions ? "regressions" : "no regression");
  if (reply.unmatched + reply.baseline_unmatched == 0) return;
  out << fmt::format(
      "not compared (no result with the same op and seed on both sides): {} here, {} in the "
      "baseline\n",
      reply.unmatched, reply.baseline_unmatched);
}

}  // namespace

void print_comparison(const Comparison& comparison, std::ostream& out) {
  if (comparison.artifacts) print_artifacts(*comparison.artifacts, out);
  if (comparison.results) print_results(*comparison.results, out);
  if (comparison.artifacts || comparison.results) return;
  out << fmt::format("baseline {} holds nothing to compare with\n", comparison.tag);
}

}  // namespace gpuemu::cli
