// Reads the settings that `gpuemu run` passes to the driver of the processes that it starts.
#pragma once

#include <string>

#include "common/base/result.h"
#include "runtime/run_record/run_settings.h"

namespace gpuemu::libcuda {

struct Settings : DriverSettings {
  std::string folder;  ///< Where this process writes its findings; "" without `gpuemu run`.
};

/// Returns the settings that `gpuemu run` wrote, or the defaults without it, minus the devices that
/// CUDA_VISIBLE_DEVICES hides. NotFound, Io or Corruption names the file that cannot be read. Read
/// once per process. Thread-safe.
const Result<Settings>& settings_of_environment();

}  // namespace gpuemu::libcuda
