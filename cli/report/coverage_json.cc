#include "cli/report/coverage_json.h"

#include <nlohmann/json.hpp>

namespace gpuemu::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string written(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string codecov_json(const std::vector<CodecovFile>& files, const std::string& summary) {
  Json coverage = Json::object();
  for (const CodecovFile& file : files) {
    Json& counts = coverage[file.name] = Json::object();
    for (const auto& [number, line] : file.lines) {
      Json& count = counts[std::to_string(number)];
      if (line.branches.empty()) {
        count = line.hits;
      } else {
        count = line.branches;
      }
    }
  }
  Json document = {{"coverage", coverage}};
  if (!summary.empty()) document["messages"] = {{"gpuemu_summary", summary}};
  return written(document);
}

std::string op_coverage_json(const OpCoverage& coverage, double percent) {
  return written({{"covered", coverage.covered},
                  {"uncovered", coverage.uncovered},
                  {"configured_total", coverage.covered.size() + coverage.uncovered.size()},
                  {"percent", percent}});
}

}  // namespace gpuemu::cli
