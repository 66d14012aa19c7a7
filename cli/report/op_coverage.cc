#include "cli/report/op_coverage.h"

#include <fmt/core.h>

#include "cli/report/coverage_json.h"
#include "cli/report/escape.h"
#include "cli/report/text.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

double percent_of(const OpCoverage& coverage) {
  const size_t all = coverage.covered.size() + coverage.uncovered.size();
  return all == 0 ? 100
                  : 100 * static_cast<double>(coverage.covered.size()) / static_cast<double>(all);
}

std::string summary_of(const OpCoverage& coverage) {
  const size_t covered = coverage.covered.size(), all = covered + coverage.uncovered.size();
  return fmt::format("{} of {} {} results ({:.1f} %)", covered, counted(all, "op"),
                     covered == 1 ? "has" : "have", percent_of(coverage));
}

}  // namespace

std::string op_coverage_text(const OpCoverage& coverage, const std::string& format) {
  if (format == "json") return op_coverage_json(coverage, percent_of(coverage));
  if (format == "codecov") {
    std::vector<CodecovFile> files;
    const auto add = [&](const std::string& op, uint64_t hits) {
      files.push_back({"gpuemu/" + clean(op) + ".op", {{1, {.hits = hits}}}});
    };
    for (const std::string& op : coverage.covered) add(op, 1);
    for (const std::string& op : coverage.uncovered) add(op, 0);
    return codecov_json(files, summary_of(coverage));
  }
  std::string text = summary_of(coverage) + "\n";
  for (const std::string& op : coverage.uncovered) text += "no result: " + one_line(op) + "\n";
  if (!coverage.uncovered.empty()) {
    text += "next: `gpuemu test " + one_line(coverage.uncovered.front()) + "`\n";
  } else if (!coverage.kernels.empty()) {
    text += "next: `gpuemu coverage " + one_line(coverage.kernels.front()) +
            "` shows which of its lines no case reaches\n";
  }
  return text;
}

}  // namespace gpuemu::cli
