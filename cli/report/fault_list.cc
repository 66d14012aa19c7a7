#include "cli/report/fault_list.h"

#include <algorithm>

#include <fmt/core.h>

#include "cli/findings/one_line.h"
#include "cli/findings/source_excerpt.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

std::string entry_text(const std::string& op, const FindingGroup& group, const BlockStyle& style) {
  const ValidationFailure& finding = *group.finding;
  std::string place;
  if (!finding.source_file.empty()) {
    const SourceMark mark{finding.source_file, finding.source_line, 0, ""};
    place = " at " + place_text(mark, {.folder = style.folder, .columns = 0});
  }
  const std::string what = fmt::format("{} {}{}, {}: {}", one_line(op), name_of(finding.kind),
                                       place, counted(group.cases, "case"), short_title(finding));
  const std::string known = case_text(*group.smallest);
  const std::string smallest =
      fmt::format("smallest: {}{}seed {}", known, known.empty() ? "" : ", ", group.smallest->seed);
  return wrapped("", what, style.columns) + wrapped("  ", smallest, style.columns);
}

}  // namespace

std::string fault_list(const std::vector<ValidationResult>& failures, const BlockStyle& style) {
  std::vector<std::string> ops;
  uint64_t passing = 0;
  for (const ValidationResult& one : failures) {
    passing += one.passes_now ? 1 : 0;
    if (std::ranges::find(ops, one.op_name) == ops.end()) ops.push_back(one.op_name);
  }
  std::string text;
  for (const std::string& op : ops) {
    std::vector<const ValidationResult*> failing;
    for (const ValidationResult& one : failures) {
      if (one.op_name == op && !one.passes_now) failing.push_back(&one);
    }
    for (const FindingGroup& group : group_findings(failing)) {
      if (!group.is_consequence) text += entry_text(op, group, style);
    }
  }
  if (passing > 0) {
    text += fmt::format("{} more pass now; `gpuemu failures --format short` lists them\n",
                        counted(passing, "case"));
  }
  return text;
}

}  // namespace gpuemu::cli
