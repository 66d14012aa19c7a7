// The error of a faulting kernel, for callers that did not ask for findings.
#pragma once

#include <string>

#include "runtime/device/device.h"

namespace gpuemu {

/// "grid 2x1x1, block 32x1x1", and what else the launch has.
std::string geometry_of(const LaunchShape& shape);
/// Launch: kernel, geometry and the finding's sentence, which names thread and source line where
/// they are known.
Error launch_error(const LaunchShape& shape, const DeviceFinding& finding);

}  // namespace gpuemu
