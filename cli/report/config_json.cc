// The one report that is not a reply of the daemon.
#include "cli/report/config_json.h"

#include <nlohmann/json.hpp>

namespace gpuemu::cli {

std::string problems_json(const std::vector<ConfigProblem>& problems) {
  nlohmann::json list = nlohmann::json::array();
  for (const ConfigProblem& problem : problems) {
    list.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"column", problem.column},
                    {"key", problem.key},
                    {"message", problem.message}});
  }
  return nlohmann::json{{"problems", list}}.dump(2, ' ', false,
                                                 nlohmann::json::error_handler_t::replace);
}

}  // namespace gpuemu::cli
