// fork and exec with everything prepared beforehand: between the two only async-signal-safe calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// From now on this process makes files that only its user may read. Children keep the mask there
/// was: what a reference writes is the project's. Before other threads start.
void make_private_files();

struct SpawnPlan {
  std::vector<std::string> command;  ///< command[0] is looked for in PATH when it has no slash.
  std::string folder;
  std::vector<int> descriptors;  ///< Become 0, 1, 2, ... in the child; all others are closed.
  int lifeline = -1;             ///< Index into `descriptors` of the read end of the lifeline pipe.
  /// "NAME=value" for every variable of the child; absent: those of this process.
  std::optional<std::vector<std::string>> environment = {};
};

/// Thread-safe. The child belongs to the user for whom the thread acts (acting_user.h). It leads
/// a new session, so that kill(-pid) ends it with its children. Waiting for it is the caller's.
/// Unavailable when it cannot be executed.
Result<pid_t> spawn(const SpawnPlan& plan);

}  // namespace gpuemu
