// What the report of a run says about its ops beside their verdicts.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "common/base/text.h"
#include "daemon/ci/ci_tests.h"
#include "daemon/pipeline/describe_verdict.h"

namespace gpuemu {

namespace {

std::string idle_prefix(const std::string& variant) {
  return fmt::format("variant {} ran in none of ", variant);
}

}  // namespace

std::string CiTests::idle_text(const CiUnit& unit, const std::string& variant) const {
  const bool unwanted = machine_.config.kernel_policy.contains(unit.op->name);
  return fmt::format(
      "{}{}: {}", idle_prefix(variant), counted(unit.report.cases, "case"),
      unwanted ? "runtime.kernel_policy prefers another one" : "it supports none of them");
}

void CiTests::tell_idle(CiUnit& unit, const std::string& variant) {
  // In a shard the others may have run it.
  if (unit.ran[variant] > 0 || options_.shards > 1 || is_over()) return;
  unit.notes.push_back(idle_text(unit, variant));
}

/// A variant may run in the cases that a budget adds, after a note called it idle.
void CiTests::renew_idle(CiUnit& unit) {
  for (const std::string& variant : unit.op->kernels) {
    const auto said = std::ranges::find_if(unit.notes, [&](const std::string& note) {
      return note.starts_with(idle_prefix(variant));
    });
    if (said == unit.notes.end()) continue;
    if (unit.ran[variant] > 0) {
      unit.notes.erase(said);
    } else {
      *said = idle_text(unit, variant);
    }
  }
}

/// Returns the notes that a kept verdict repeats.
std::vector<std::string> CiTests::notes_of(const CiUnit& unit) {
  std::vector<std::string> notes = unit.notes;
  std::ranges::copy(unit.variants.sentences(), std::back_inserter(notes));
  std::ranges::copy(unit.remarks, std::back_inserter(notes));
  return notes;
}

void CiTests::tell(const CiUnit& unit) {
  const std::string of = fmt::format("{} {}: ", unit.report.op_name, name_of(unit.report.dtype));
  const std::string guess = unit.report.failed > 0 ? guess_text(*unit.op) : "";
  if (!guess.empty() && std::ranges::find(notes_, "warning: " + guess) == notes_.end()) {
    notes_.push_back("warning: " + guess);
  }
  for (const std::string& text : notes_of(unit)) notes_.push_back(of + text);
  for (const std::string& text : machine_.campaign.sizes_not_run(*unit.op, unit.report.dtype)) {
    notes_.push_back("warning: " + of + text);
  }
}

/// A budget is asked for and what it leaves out is said; a limit that ends the profile's cases
/// keeps the run from what it promises.
void CiTests::tell_not_run() {
  for (const auto& unit : units_) {
    CiOp& op = unit->report;
    if (unit->not_run == 0 || !op.error.empty()) continue;
    const bool asked_for = options_.budget.count() > 0;
    const std::string text =
        fmt::format("{} of its cases were not run: {} ended the run first", unit->not_run,
                    asked_for ? "--budget" : "ci.thorough_timeout");
    if (asked_for) {
      notes_.push_back(fmt::format("{} {}: {}", op.op_name, name_of(op.dtype), text));
    } else {
      op.error = text;
    }
  }
}

}  // namespace gpuemu
