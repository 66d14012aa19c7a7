#include "cli/report/sarif_log.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "cli/report/escape.h"
#include "cli/report/text.h"
#include "common/protocol/findings.h"

namespace gpuemu::cli {
namespace {

using SortedJson = nlohmann::json;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
// GitHub's limit for one run; it rejects the whole file above it.
constexpr size_t kResultsMax = 5000;
constexpr size_t kNotesMax = 1000;

/// Returns a relative reference below `folder`, otherwise a file URL; blanks and similar characters
/// are escaped.
std::string uri_of(const std::string& file, const std::string& folder) {
  const std::filesystem::path path = std::filesystem::path(file).lexically_normal();
  const std::filesystem::path inside = path.lexically_relative(folder);
  const bool below = path.is_absolute() && !inside.empty() && *inside.begin() != "..";
  const std::string text = path.is_relative() ? path.string()
                           : below            ? inside.string()
                                              : path.string();
  std::string uri = path.is_absolute() && !below ? "file://" : "";
  for (const char letter : text) {
    const auto byte = static_cast<unsigned char>(letter);
    const bool plain =
        std::isalnum(byte) != 0 || std::string_view("-._~/").find(letter) != std::string_view::npos;
    uri += plain ? std::string(1, letter) : fmt::format("%{:02X}", byte);
  }
  return uri;
}

SortedJson physical_of(const SarifPlace& place, const std::string& folder) {
  return {{"artifactLocation", {{"uri", uri_of(place.file, folder)}}},
          {"region", {{"startLine", std::max<uint32_t>(1, place.line)}}}};
}

SortedJson location_of(const SarifStep& step, const std::string& folder) {
  SortedJson location = {{"message", {{"text", clean(one_line(step.text))}}}};
  if (!step.place.file.empty()) location["physicalLocation"] = physical_of(step.place, folder);
  return location;
}

/// Returns a code flow with one thread: the steps in order.
SortedJson flow_of(const std::vector<SarifStep>& steps, const std::string& folder) {
  SortedJson locations = SortedJson::array();
  for (const SarifStep& step : steps) {
    locations.push_back({{"location", location_of(step, folder)}});
  }
  SortedJson flow = {{"locations", locations}};
  return {{"threadFlows", SortedJson::array({flow})}};
}

SortedJson suppressions_of(const std::string& accepted) {
  SortedJson made = SortedJson::array();
  if (accepted.empty()) return made;
  made.push_back({{"kind", "external"}, {"justification", clean(one_line(accepted))}});
  return made;
}

/// Returns the rule "validation/OutOfBounds" with the meaning of its kind and the usual fix.
SortedJson rule_of(const std::string& rule) {
  const std::string kind = rule.substr(rule.find('/') + 1);
  SortedJson made = {
      {"id", rule}, {"name", kind}, {"shortDescription", {{"text", kind + " (gpuemu)"}}}};
  if (const auto known = finding_kind_from_name(kind)) {
    const FindingInfo& info = finding_info(*known);
    made["fullDescription"] = {{"text", info.what}};
    made["help"] = {{"text", info.help}};
  }
  return made;
}

}  // namespace

struct SarifLog::Parts {
  SortedJson results = SortedJson::array(), notes = SortedJson::array();
  std::set<std::string> rules;
};

SarifLog::SarifLog(std::string folder)
    : folder_(std::move(folder)), parts_(std::make_unique<Parts>()) {}
SarifLog::~SarifLog() = default;

void SarifLog::add(const SarifFinding& finding) {
  if (parts_->results.size() >= kResultsMax) return;
  parts_->rules.insert(finding.rule);
  const std::string name = clean(one_line(finding.name));
  SortedJson location = {{"logicalLocations", {{{"name", name}, {"kind", "function"}}}}};
  if (!finding.place.file.empty()) {
    location["physicalLocation"] = physical_of(finding.place, folder_);
  }
  SortedJson result = {
      {"ruleId", finding.rule},
      {"level", finding.level},
      {"message", {{"text", clean(one_line(finding.message))}}},
      {"locations", SortedJson::array({location})},
      {"partialFingerprints", {{finding.fingerprint, clean(finding.fingerprint_value)}}}};
  for (const auto& [fingerprint, value] : finding.more_fingerprints) {
    result["partialFingerprints"][fingerprint] = clean(value);
  }
  for (const std::vector<SarifStep>& steps : finding.flows) {
    if (!steps.empty()) result["codeFlows"].push_back(flow_of(steps, folder_));
  }
  if (finding.related) {
    result["relatedLocations"] = SortedJson::array({location_of(*finding.related, folder_)});
  }
  if (finding.accepted) result["suppressions"] = suppressions_of(*finding.accepted);
  parts_->results.push_back(std::move(result));
}

void SarifLog::note(const std::string& text) {
  if (parts_->notes.size() >= kNotesMax) return;
  parts_->notes.push_back({{"level", "note"}, {"message", {{"text", clean(one_line(text))}}}});
}

std::string SarifLog::text() const {
  SortedJson rules = SortedJson::array();
  for (const std::string& rule : parts_->rules) rules.push_back(rule_of(rule));
  const SortedJson driver = {{"name", "gpuemu"}, {"version", GPUEMU_VERSION}, {"rules", rules}};
  SortedJson run = {{"tool", {{"driver", driver}}}, {"results", parts_->results}};
  if (!parts_->notes.empty()) {
    run["invocations"] = {
        {{"executionSuccessful", true}, {"toolExecutionNotifications", parts_->notes}}};
  }
  const SortedJson document = {{"$schema", kSchema}, {"version", "2.1.0"}, {"runs", {run}}};
  return document.dump(2, ' ', false, SortedJson::error_handler_t::replace);
}

}  // namespace gpuemu::cli
