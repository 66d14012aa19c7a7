// What a wrong command line is told.
#pragma once

#include <string>
#include <vector>

namespace gpuemu::cli {

/// A line that could not be parsed, as far as it was understood.
struct Mistake {
  std::string command;  ///< The innermost command that was recognised: "gpuemu baseline".
  std::vector<std::string> commands;  ///< Its subcommands.
  std::vector<std::string> options;   ///< Its options, with their dashes.
  std::vector<std::string> left;      ///< Words that nothing took.
  bool needs_command = false;         ///< One of `commands` has to follow.
  std::string what;                   ///< The parser's own words.
};

/// The mistake, the nearest right spelling and where the help is; no line break at the end.
std::string usage_problem(const Mistake& mistake);

}  // namespace gpuemu::cli
