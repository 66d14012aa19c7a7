// The program that `gpuemu run` starts.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace gpuemu::cli {

/// What a shell gives for a program that was killed, could not be executed, was not found, and what
/// `timeout` gives.
inline constexpr int kSignalled = 128, kNotExecutable = 126, kNotFound = 127, kTimedOut = 124;

struct Ended {
  int exit_code = 0;  ///< As a shell has it.
  int signal = 0;     ///< Not 0 where it was killed.
  bool started = true, timed_out = false;
  std::string problem;  ///< Why it did not start.
  double seconds = 0;
};

/// Runs it with the streams, folder and terminal of this process and waits for it. Signals that
/// this process gets meanwhile are passed on. One at a time.
Ended run_program(const std::vector<std::string>& command,
                  const std::map<std::string, std::string>& environment,
                  std::optional<std::chrono::milliseconds> timeout);

}  // namespace gpuemu::cli
