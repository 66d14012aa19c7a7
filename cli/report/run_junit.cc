// Writes the findings of `gpuemu run` as JUnit XML.
#include <map>

#include <fmt/core.h>

#include "cli/report/junit_suite.h"
#include "cli/report/run_documents.h"

namespace gpuemu::cli {
namespace {

/// The suites of a document, in order.
enum class Group { Kernels, Tests, Calls };

struct CaseKey {
  Group group = Group::Kernels;
  std::string name;
  auto operator<=>(const CaseKey&) const = default;
};

using Cases = std::map<CaseKey, std::vector<const RunFinding*>>;

void add_finding(const RunFinding& finding, Cases& cases) {
  for (const std::string& test : finding.tests) {
    cases[{Group::Tests, test}].push_back(&finding);
  }
  if (!finding.tests.empty()) return;
  const CaseKey key = finding.kernel.empty() ? CaseKey{Group::Calls, finding.host.call}
                                             : CaseKey{Group::Kernels, finding.kernel};
  cases[key].push_back(&finding);
}

Cases cases_of(const RunRecords& records) {
  Cases cases;
  for (const RunKernel& one : records.kernels) {
    cases[one.test.empty() ? CaseKey{Group::Kernels, one.kernel} : CaseKey{Group::Tests, one.test}];
  }
  for (const RunFinding& finding : records.findings) {
    if (!finding.suppressed) add_finding(finding, cases);
  }
  return cases;
}

void add_case(const std::string& name, const std::vector<const RunFinding*>& findings,
              JunitSuite& suite) {
  const RunFinding* first = nullptr;
  std::string text;
  for (const RunFinding* finding : findings) {
    if (finding->severity == RunSeverity::Note) {
      suite.note(text_of(*finding));
      continue;
    }
    if (first == nullptr) first = finding;
    text += text_of(*finding);
  }
  if (first == nullptr) {
    suite.passed(name, 0);
  } else {
    suite.failed(name, 0, first->kind, first->message, text);
  }
}

}  // namespace

std::string run_junit(const RunRecords& records, const RunProgram& program) {
  std::vector<JunitSuite> suites = {{"kernels", "kernels"}, {"tests", "tests"}, {"calls", "calls"}};
  for (const auto& [key, findings] : cases_of(records)) {
    add_case(key.name, findings, suites[static_cast<size_t>(key.group)]);
  }
  if (program.program_exit_code != 0) {
    suites.front().note(
        fmt::format("the program ended with exit code {}", program.program_exit_code));
  }
  constexpr double kMillisecondsPerSecond = 1000;
  return junit_document(suites, static_cast<uint64_t>(program.seconds * kMillisecondsPerSecond));
}

}  // namespace gpuemu::cli
