// Starting gpuemu-daemon detached from this terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/base/result.h"

namespace gpuemu::cli {

struct DaemonLaunch {
  std::string program_folder;  ///< gpuemu-daemon lies here, else in PATH.
  std::string working_folder;
  std::string config_file;  ///< "" = found upwards from working_folder.
  std::string socket_path;  ///< What it says while it starts goes to a file beside it.
  bool no_workers = false;  ///< Where it is to serve.
};

/// GNU build id of the program that launch_daemon() starts; "" when that is not known.
std::string daemon_build(const DaemonLaunch& launch);

/// Returns at once with its process; whether it serves is for the caller to ask.
Result<pid_t> launch_daemon(const DaemonLaunch& launch);

/// What the daemon that was started last wrote to its standard error; nothing when that is empty.
std::optional<std::string> daemon_start_words(const std::string& socket_path);

/// What is wrong with the database while no daemon has it open; nothing where it is whole.
std::optional<std::string> database_problem(const DaemonLaunch& launch);

/// What the daemon's program answers, as the text of a reply, while no daemon has the database
/// open: with the option --answer to the request `message`, or by itself, as with --repair.
Result<std::string> answer_without_daemon(const DaemonLaunch& launch,
                                          const std::vector<std::string>& options,
                                          const std::string& message);

/// Whether there is such a process and it has not ended. One that nobody has waited for yet, as in
/// containers whose first process waits for none, has ended.
bool process_runs(pid_t process);

/// Whether a signal has stopped the process, as Ctrl-Z does.
bool process_is_suspended(pid_t process);

/// The daemon that the lock file of `db_path` names as the one behind `socket_path`, whether that
/// socket is still there or not; nothing where it does not run.
std::optional<pid_t> daemon_behind(const std::string& db_path, const std::string& socket_path);

/// Replaces this process by a daemon in the foreground. Returns only when that fails.
Status become_daemon(const DaemonLaunch& launch);

}  // namespace gpuemu::cli
