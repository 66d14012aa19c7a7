// What a finding of a device means, and the error that a faulting kernel is where nobody asked for
// findings.
#pragma once

#include <string>

#include "runtime/device/device.h"

namespace gpuemu {

/// A race of threads that the compiler has do the same work, which changes no result.
bool is_redundancy(const DeviceFinding& finding);
/// That, or where a NaN or an infinity comes from: no fault by itself.
bool is_note(const DeviceFinding& finding);
/// It ended the kernel. A note, a race, an uninitialised read and a division by zero leave the
/// results of the launch standing.
bool is_fault(const DeviceFinding& finding);

/// "grid 2x1x1, block 32x1x1", and what else the launch has.
std::string geometry_of(const LaunchShape& shape);
/// Launch: kernel, geometry and the finding's sentence, which names thread and source line where
/// they are known.
Error launch_error(const LaunchShape& shape, const DeviceFinding& finding);

}  // namespace gpuemu
