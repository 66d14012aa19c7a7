// Formats a problem: file, line, column, key and what was expected.
#include "common/toml/config_problem.h"

#include <fmt/core.h>

namespace gpuemu {

std::string ConfigProblem::text() const {
  std::string place = file;
  if (line > 0) place += fmt::format(":{}:{}", line, column);
  if (!key.empty()) place += (place.empty() ? "" : ": ") + key;
  return place.empty() ? message : place + ": " + message;
}

}  // namespace gpuemu
