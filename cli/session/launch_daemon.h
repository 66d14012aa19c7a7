// Starts gpuemu-daemon detached from this terminal.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/base/result.h"

namespace gpuemu::cli {

struct DaemonLaunch {
  std::string program_folder;  ///< The folder with gpuemu-daemon; otherwise it is searched for in
                               ///< PATH.
  std::string working_folder;
  std::string config_file;  ///< "": found by searching upwards from working_folder.
  std::string socket_path;  ///< Start messages go to a file beside it.
  bool no_workers = false;  ///< Start without worker processes.
};

/// Returns the GNU build id of the program that launch_daemon() starts; "" if it is unknown.
std::string daemon_build(const DaemonLaunch& launch);

/// Starts the daemon and returns its process immediately; the caller must check whether it serves.
Result<pid_t> launch_daemon(const DaemonLaunch& launch);

/// Returns what the last started daemon wrote to its standard error; nothing if that is empty.
std::optional<std::string> daemon_start_words(const std::string& socket_path);

/// Returns the problem with the database while no daemon has it open; nothing if it is intact.
std::optional<std::string> database_problem(const DaemonLaunch& launch);

/// Returns the answer of the daemon's program, as the text of a reply, while no daemon has the
/// database open: with the option --answer, to the request `message`; with others, such as
/// --repair, without a request.
Result<std::string> answer_without_daemon(const DaemonLaunch& launch,
                                          const std::vector<std::string>& options,
                                          const std::string& message);

/// Returns whether the process exists and has not ended. Zombies, such as in containers whose init
/// process does not wait for children, count as ended.
bool process_runs(pid_t process);

/// Returns whether a signal has stopped the process, as Ctrl-Z does.
bool process_is_suspended(pid_t process);

/// Returns the daemon that the lock file of `db_path` names as serving `socket_path`, whether or
/// not that socket still exists; nothing if it is not running.
std::optional<pid_t> daemon_behind(const std::string& db_path, const std::string& socket_path);

/// Replaces this process by a daemon in the foreground. Returns only on failure.
Status become_daemon(const DaemonLaunch& launch);

}  // namespace gpuemu::cli
