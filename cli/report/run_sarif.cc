// Writes the findings of `gpuemu run` as SARIF.
#include <algorithm>
#include <ranges>

#include <fmt/core.h>

#include "cli/report/run_documents.h"
#include "cli/report/sarif_log.h"
#include "common/base/text.h"

namespace gpuemu::cli {
namespace {

/// Returns the frames in the order of the calls.
std::vector<SarifStep> flow_of(const char* what, const std::vector<RunFrame>& stack) {
  std::vector<SarifStep> steps;
  for (const RunFrame& frame : std::views::reverse(stack)) {
    const std::string function = frame.function.empty() ? frame.file : frame.function;
    steps.push_back({{frame.file, frame.line}, fmt::format("{} {}", what, function)});
  }
  return steps;
}

SarifPlace place_of(const RunFinding& finding) {
  if (finding.line != 0) return {finding.file, finding.line};
  const auto known = [](const RunFrame& frame) { return frame.line != 0; };
  const auto frame = std::ranges::find_if(finding.host.stack, known);
  return frame == finding.host.stack.end() ? SarifPlace{"", 0}
                                           : SarifPlace{frame->file, frame->line};
}

/// Returns text that distinguishes findings of one kernel or call and does not change when lines
/// move.
std::string code_of(const RunFinding& finding) {
  if (!finding.instruction.empty()) return finding.instruction;
  return finding.host.stack.empty() ? "" : finding.host.stack.front().function;
}

SarifFinding result_of(const RunFinding& finding) {
  const bool is_of_kernel = !finding.kernel.empty();
  const std::string& name = is_of_kernel ? finding.kernel : finding.host.call;
  const std::string times = finding.count > 1 ? fmt::format(", {} times", finding.count) : "";
  SarifFinding made{"run/" + finding.kind,
                    fmt::format("{} ({} {}{})", finding.message,
                                is_of_kernel ? "in kernel" : "in a call of", name, times),
                    name,
                    place_of(finding),
                    "kindAndCode",
                    fmt::format("{}:{}:{}", finding.kind, name, code_of(finding))};
  made.level = name_of(finding.severity);
  made.accepted = finding.suppression_reason;
  const char* const host = is_of_kernel ? "launched at" : "called at";
  made.flows.push_back(flow_of(host, finding.host.stack));
  if (finding.allocation) {
    made.flows.push_back(flow_of("allocated at", finding.allocation->stack));
    made.flows.push_back(flow_of("freed at", finding.allocation->freed));
  }
  if (finding.other) {
    const RunOther& other = *finding.other;
    const std::string place = other.line == 0 ? fmt::format(", PTX line {}", other.ptx_line) : "";
    const std::string who = other.kernel.empty() ? other.host.call : "kernel " + other.kernel;
    made.related = SarifStep{{other.file, other.line},
                             "the other access" + (who.empty() ? "" : " by " + who) + place};
    made.flows.push_back(
        flow_of(other.kernel.empty() ? "called at" : "launched at", other.host.stack));
  }
  return made;
}

}  // namespace

std::string run_sarif(const RunRecords& records, const RunProgram& program,
                      const std::string& folder) {
  SarifLog log(folder);
  for (const RunFinding& finding : records.findings) log.add(result_of(finding));
  for (const RunUnsupported& one : records.unsupported) {
    log.note(
        fmt::format("{} is not supported; it was called {}", one.call, counted(one.count, "time")));
  }
  if (program.program_exit_code != 0) {
    log.note(fmt::format("the program ended with exit code {}", program.program_exit_code));
  }
  return log.text() + "\n";
}

}  // namespace gpuemu::cli
