// What `gpuemu run` asks of the driver of the processes that it starts.
#pragma once

#include <string>

#include "common/base/result.h"
#include "runtime/run_record/run_settings.h"

namespace gpuemu::libcuda {

struct Settings : DriverSettings {
  std::string folder;  ///< Where processes leave their findings; "" without `gpuemu run`.
};

/// Settings of the folder that `gpuemu run` names in the environment; the defaults without it.
/// Devices that CUDA_VISIBLE_DEVICES hides are left out. Read once: a process keeps what it began
/// with.
const Result<Settings>& settings_of_environment();

}  // namespace gpuemu::libcuda
