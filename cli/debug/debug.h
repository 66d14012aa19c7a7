// Runs a whole session of `gpuemu debug` over a source of lines.
#pragma once

#include <memory>

#include "cli/debug/context.h"
#include "cli/debug/input.h"

namespace gpuemu::cli {

/// Where the commands of a session come from.
struct CommandSources {
  std::vector<std::string> first;     ///< Executed before all others.
  std::vector<std::string> commands;  ///< From -c.
  bool prompt = false;                ///< Whether to prompt the user, afterwards or instead.
  std::istream* lines = nullptr;      ///< If not prompting: lines to read; null: none.
  std::string history_file;
};

/// Runs to the end. Returns the error that ended a script; sessions at a prompt return none.
Status run_debug(DebugEnvironment& environment, const CommandSources& sources);

}  // namespace gpuemu::cli
