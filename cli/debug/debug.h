// `gpuemu debug` as a whole: a session over a source of lines.
#pragma once

#include <memory>

#include "cli/debug/context.h"
#include "cli/debug/input.h"

namespace gpuemu::cli {

/// Where the commands of a session come from.
struct CommandSources {
  std::vector<std::string> first;     ///< Commands before all others.
  std::vector<std::string> commands;  ///< -c
  bool prompt = false;                ///< Then, or instead, ask a person.
  std::istream* lines = nullptr;      ///< Else read these; null: nothing more.
  std::string history_file;
};

/// Runs to the end. The error that ended a script; a session at a prompt has none.
Status run_debug(DebugEnvironment& environment, const CommandSources& sources);

}  // namespace gpuemu::cli
