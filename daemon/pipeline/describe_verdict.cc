#include "daemon/pipeline/describe_verdict.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/ranges.h>

#include "common/base/text.h"
#include "common/config/config.h"
#include "daemon/case/case_report.h"
#include "judge/relations/known_properties.h"

namespace gpuemu {
namespace {

struct NoteSentence {
  CaseNote note;
  const char* sentence;  ///< {}: a text such as "3 cases".
};
/// In the order in which reports show them. Other notes do not appear in reports.
constexpr NoteSentence kNoteSentences[] = {
    {CaseNote::UndefinedIntegers,
     "in {} some integers were not compared: they come from a NaN or an infinity, which no integer "
     "is"},
    {CaseNote::WrappedIntegers,
     "in {} some expected integers do not fit the output's type, because inputs without a `range` "
     "are drawn from their whole type: only the lowest bits were compared, which the hardware "
     "keeps "
     "(none where the reference gives a float of 2^53 or more); give the inputs a `range` to make "
     "such results a failure"},
    {CaseNote::RedundantThreads,
     "in {} threads that Triton has do the same work raced: what they read reaches no result, and "
     "what they store differs by rounding only"},
    {CaseNote::Underflow,
     "in {} larger errors than the bound pass: without rounding the kernel gives the reference, "
     "and results too small for their type explain them"},
    {CaseNote::Flushed,
     "in {} subnormal results came out as zero: the kernel flushes them (-ftz=true, "
     "--use_fast_math); `subnormal = \"keep\"` makes that a failure"},
    {CaseNote::Masked,
     "in {} the reference is NaN or infinite where masked inputs are (0 * NaN is NaN), and the "
     "kernel has the number that does not depend on them; a written `nan_policy` makes that a "
     "failure"},
    {CaseNote::ErrorScale,
     "in {} larger errors than the bound pass: without rounding the kernel gives the reference, "
     "and the last place of its inputs moves that as much"},
    {CaseNote::NotLookedAt,
     "{} could not be run without rounding (too large, or no emulator): judged by the defaults of "
     "torch.testing.assert_close alone where the bound is exceeded"},
};

void add_note_sentences(OpTestReport& report) {
  for (const NoteSentence& row : kNoteSentences) {
    const auto found = report.relations.find(std::string(name_of(row.note)));
    if (found == report.relations.end()) continue;
    report.notes.push_back(fmt::format(fmt::runtime(row.sentence), counted(found->second, "case")));
  }
}

}  // namespace

std::string guess_text(const OpConfig& op) {
  if (op.guess.empty()) return "";
  std::string why = op.guess;
  while (why.ends_with('.')) why.pop_back();
  return fmt::format(
      "`gpuemu init` was not sure of {}: {}. Before you believe these findings, compare its "
      "shapes, "
      "dims, grid, block and args at {}:{} with your program; delete the line `guess` there once "
      "they are right",
      op.name, why, std::filesystem::path(op.file).filename().string(), op.line);
}

void describe_verdict(const Config& config, const OpConfig& op, OpTestReport& report) {
  const KernelConfig* kernel = config.find_kernel(report.kernel);
  if (kernel == nullptr || report.cases == 0) return;
  std::set<std::string> judges;
  for (const auto& [name, count] : report.relations) judges.insert(name);
  std::set<std::string> idle;
  for (const InvariantSpec& spec : relations_of(op, *kernel)) {
    // Relations are not checked on cases with findings of another kind.
    const std::string name(name_of(spec.kind));
    if (!judges.contains(name) && report.failed < report.cases) idle.insert(name);
  }
  for (const InvariantSpec& spec : invariants_of(op, *kernel)) {
    const std::string name(name_of(spec.kind));
    if (is_rarely_conclusive(spec.kind) && !judges.contains(name)) idle.insert(name);
  }
  report.no_reference = op.reference.empty();
  if (report.no_reference) {
    for (const InvariantSpec& spec : invariants_of(op, *kernel)) judges.emplace(name_of(spec.kind));
    report.unjudged = std::ranges::none_of(judges, sees_values);
    report.notes.push_back(
        fmt::format("no reference was compared; judged by {}{}what the harness and the device see",
                    fmt::join(judges, ", "), judges.empty() ? "" : " and "));
    if (!op.stub_reference.empty()) {
      report.notes.push_back(
          fmt::format("{} is not written yet: it raises NotImplementedError", op.stub_reference));
    }
  }
  add_note_sentences(report);
  if (report.failed > 0) report.guess = guess_text(op);
  if (idle.empty()) return;
  report.notes.push_back(
      fmt::format("no case could tell anything about {}: the sizes or ranges of "
                  "the op, or the device, do not allow it",
                  fmt::join(idle, ", ")));
}

}  // namespace gpuemu
