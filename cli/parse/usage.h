// Error messages for wrong command lines.
#pragma once

#include <string>
#include <vector>

namespace gpuemu::cli {

/// A command line that could not be parsed, as far as it was understood.
struct Mistake {
  std::string command;                ///< The innermost recognized command: "gpuemu baseline".
  std::vector<std::string> commands;  ///< Its subcommands.
  std::vector<std::string> options;   ///< Its options, with their dashes.
  std::vector<std::string> left;      ///< Words that were not consumed.
  bool needs_command = false;         ///< Whether one of `commands` must follow.
  std::string what;                   ///< The parser's own message.
};

/// Returns the error, the most similar valid spelling and where to find the help, without a line
/// break at the end.
std::string usage_problem(const Mistake& mistake);

}  // namespace gpuemu::cli
