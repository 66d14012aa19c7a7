#include "cli/archive/opened.h"

#include <filesystem>

#include <nlohmann/json.hpp>

#include "common/numeric/dtype.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::ordered_json;

Json replay_json(const ReplayOutcome& outcome) {
  Json differing = Json::array();
  for (const DifferingCase& one : outcome.differing) {
    differing.push_back({{"op_name", one.op},
                         {"dtype", name_of(one.dtype)},
                         {"seed", one.seed},
                         {"there", one.there},
                         {"here", one.here}});
  }
  return {{"cases", outcome.cases},
          {"same", outcome.same},
          {"not_replayed", outcome.not_replayed},
          {"differing", std::move(differing)}};
}

Json failing_cases(const CiRunSummary& run) {
  Json cases = Json::array();
  for (const ValidationResult& one : run.validation_results) {
    if (one.passed) continue;
    Json findings = Json::array();
    for (const ValidationFailure& finding : one.failures) {
      findings.push_back({{"kind", name_of(finding.kind)}, {"message", finding.message}});
    }
    Json failing = {{"op_name", one.op_name}, {"seed", one.seed}};
    if (one.repro_info) failing["dtype"] = name_of(one.repro_info->dtype);
    failing["failures"] = std::move(findings);
    cases.push_back(std::move(failing));
  }
  return cases;
}

}  // namespace

std::string opened_json(const RunArchive& archive, const OpenedPlaces& places,
                        const std::optional<ReplayOutcome>& outcome) {
  const std::filesystem::path folder = places.folder;
  const Json document = {{"archive", places.archive},
                         {"version", archive.version},
                         {"passed", archive.run.passed},
                         {"failed", archive.run.failed},
                         {"report", (folder / "report.html").string()},
                         {"run", (folder / "run.json").string()},
                         {"cases", (folder / "cases").string()},
                         {"project", (folder / "project" / archive.config).string()},
                         {"files", archive.files.size()},
                         {"left_out", archive.left_out},
                         {"failing", failing_cases(archive.run)},
                         {"replay", outcome ? replay_json(*outcome) : Json()}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gpuemu::cli
