// Starting gpuemu-daemon detached from this terminal.
#pragma once

#include <optional>
#include <string>

#include "common/base/result.h"

namespace gpuemu::cli {

struct DaemonLaunch {
  std::string program_folder;  ///< gpuemu-daemon lies here, else in PATH.
  std::string working_folder;
  std::string config_file;  ///< "" = found upwards from working_folder.
  std::string socket_path;  ///< What it says while it starts goes to a file beside it.
};

/// Returns at once; whether it serves is for the caller to ask.
Status launch_daemon(const DaemonLaunch& launch);

/// What a daemon that ended at once wrote to its standard error.
std::optional<std::string> daemon_start_error(const std::string& socket_path);

/// Replaces this process by a daemon in the foreground. Returns only when that fails.
Status become_daemon(const DaemonLaunch& launch);

}  // namespace gpuemu::cli
