// Builds the error of a faulting kernel, for callers that take an error instead of findings.
#pragma once

#include <string>

#include "runtime/device/device.h"

namespace gpuemu {

/// Returns for example "2x1x1".
std::string extent_text(const Dim3& dim);
/// Returns for example "grid 2x1x1, block 32x1x1", with cluster and shared memory if there are any.
std::string geometry_of(const LaunchShape& shape);
/// Builds a Launch error from the kernel, its geometry and the finding's message, which names the
/// thread and source line if they are known.
Error launch_error(const LaunchShape& shape, const DeviceFinding& finding);

}  // namespace gpuemu
