// fork and exec with everything prepared before: in between there are only async-signal-safe calls.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/base/result.h"
#include "common/base/unique_fd.h"

namespace gpuemu {

/// From now on, files that this process creates are readable only by its user. Children keep the
/// previous umask, because files written by a reference belong to the project. Call it before other
/// threads start.
void make_private_files();

struct SpawnPlan {
  std::vector<std::string> command;  ///< command[0] is searched in PATH if it has no slash.
  std::string folder;
  std::vector<int> descriptors;  ///< Become 0, 1, 2 and so on in the child; all others are closed.
  int lifeline = -1;             ///< Index into `descriptors` of the read end of the lifeline pipe.
  /// "NAME=value" for every variable of the child; absent: this process's variables.
  std::optional<std::vector<std::string>> environment = {};
};

/// Starts a child, owned by the user for whom the thread acts (acting_user.h). It leads a new
/// session, so kill(-pid) ends it with its children. The caller must wait for it. Unavailable if it
/// cannot be executed. Thread-safe.
Result<pid_t> spawn(const SpawnPlan& plan);

}  // namespace gpuemu
