// Starts the program of `gpuemu run` and waits for it.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::cli {

/// The exit codes of a shell for a program that was killed (plus the signal), cannot be executed or
/// is not found, and that of timeout(1).
inline constexpr int kSignalled = 128, kNotExecutable = 126, kNotFound = 127, kTimedOut = 124;

struct Ended {
  int exit_code = 0;  ///< As a shell reports it.
  int signal = 0;     ///< The signal that killed it, or 0.
  bool started = true, timed_out = false;
  bool left_running = false;  ///< Processes that it started go on.
  std::string problem;        ///< Why it did not start.
  double seconds = 0;
};

/// Runs the command with the standard streams and working folder of this process and waits for its
/// end. Signals that arrive meanwhile are passed on. After `timeout` it gets SIGTERM, and SIGKILL 5
/// s later. Processes that it leaves become children of this one. Not thread-safe: one program at a
/// time.
Ended run_program(const std::vector<std::string>& command,
                  const std::map<std::string, std::string>& environment,
                  std::optional<std::chrono::milliseconds> timeout);

}  // namespace gpuemu::cli
