// Private to this folder: a project that the daemon has encountered since it started.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/server/open_projects.h"

namespace gpuemu {

struct OpenProjects::Entry {
  // Guarded by the mutex of OpenProjects:
  StoredProject project;
  Clock::time_point asked;

  std::mutex mutex;
  // Guarded by `mutex`; null: not open.
  std::shared_ptr<ConfigWatch> config;
  std::shared_ptr<OpenProject> open;
  std::optional<std::string> name;  ///< The stored name.
};

}  // namespace gpuemu
