// A check that options with a text share.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace gpuemu::cli {

/// Refuses "": what a shell makes of a variable that is not set.
inline CLI::Validator not_empty() {
  const auto problem = [](std::string& text) -> std::string {
    return text.empty() ? "empty; is a variable not set?" : "";
  };
  return CLI::Validator(problem, "");
}

}  // namespace gpuemu::cli
