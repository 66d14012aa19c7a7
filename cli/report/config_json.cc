// The one report that is not a reply of the daemon.
#include "cli/report/config_json.h"

#include <nlohmann/json.hpp>

namespace gpuemu::cli {

namespace {

nlohmann::json list_of(const std::vector<ConfigProblem>& problems) {
  nlohmann::json list = nlohmann::json::array();
  for (const ConfigProblem& problem : problems) {
    // Where only the beginning is known, an editor marks one character.
    const bool has_end =
        std::pair(problem.end_line, problem.end_column) > std::pair(problem.line, problem.column);
    const uint32_t next = problem.line > 0 ? problem.column + 1 : 0;
    list.push_back({{"file", problem.file},
                    {"line", problem.line},
                    {"column", problem.column},
                    {"end_line", has_end ? problem.end_line : problem.line},
                    {"end_column", has_end ? problem.end_column : next},
                    {"key", problem.key},
                    {"message", problem.message}});
  }
  return list;
}

}  // namespace

std::string problems_json(const ConfigResult& loaded) {
  const nlohmann::json both = {{"problems", list_of(loaded.problems)},
                               {"warnings", list_of(loaded.warnings)}};
  return both.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace gpuemu::cli
