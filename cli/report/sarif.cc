// SARIF 2.1.0 of violations, in the form that code scanning services take.
#include <filesystem>
#include <set>

#include <nlohmann/json.hpp>

#include "cli/report/lint.h"
#include "cli/report/text.h"

namespace gpuemu::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kSchema =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";
constexpr const char* kRulePage = "https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/";

struct Place {
  std::string file;
  uint32_t line = 1;
};

Place place_of(const LintResult& result, const LintViolation* violation, const Config* config) {
  if (violation != nullptr && violation->source_line > 0 && !violation->source_file.empty()) {
    return {violation->source_file, violation->source_line};
  }
  const std::string own = result.kernel_name.substr(0, result.kernel_name.find(':'));
  const KernelConfig* kernel = config == nullptr ? nullptr : config->find_kernel(own);
  if (kernel != nullptr && kernel->line > 0 && kernel->source == result.source) {
    return {kernel->file, kernel->line};
  }
  return {result.source.empty() ? "gpuemu.toml" : result.source, 1};
}

/// A relative reference below `folder`, else a file URL; blanks and the like are escaped.
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

Json result_of(const std::string& rule, const std::string& message, const LintResult& of,
               const Json& physical) {
  return {{"ruleId", "lint/" + rule},
          {"level", "error"},
          {"message", {{"text", one_line(message)}}},
          {"locations",
           {{{"physicalLocation", physical},
             {"logicalLocations", {{{"name", of.kernel_name}, {"kind", "function"}}}}}}},
          {"partialFingerprints", {{"kindAndKernel", rule + ":" + of.kernel_name}}}};
}

Json physical(const Place& place, const std::string& folder) {
  return {{"artifactLocation", {{"uri", uri_of(place.file, folder)}}},
          {"region", {{"startLine", place.line}}}};
}

}  // namespace

std::string lint_sarif(const std::vector<LintResult>& results, const Config* config,
                       const std::string& folder) {
  Json found = Json::array(), rules = Json::array();
  std::set<std::string> used;
  for (const LintResult& result : results) {
    for (const LintViolation& violation : result.violations) {
      const std::string kind = name_of(violation.kind);
      used.insert(kind);
      found.push_back(result_of(kind, violation.message, result,
                                physical(place_of(result, &violation, config), folder)));
    }
    if (result.error.empty()) continue;
    used.insert("NotMeasured");
    found.push_back(result_of("NotMeasured", result.kernel_name + ": " + result.error, result,
                              physical(place_of(result, nullptr, config), folder)));
  }
  for (const std::string& kind : used) {
    rules.push_back({{"id", "lint/" + kind},
                     {"name", kind},
                     {"shortDescription", {{"text", kind + " (gpuemu lint)"}}},
                     {"helpUri", kRulePage}});
  }
  const Json driver = {{"name", "gpuemu"},
                       {"version", GPUEMU_VERSION},
                       {"informationUri", kRulePage},
                       {"rules", rules}};
  const Json document = {{"$schema", kSchema},
                         {"version", "2.1.0"},
                         {"runs", {{{"tool", {{"driver", driver}}}, {"results", found}}}}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace gpuemu::cli
