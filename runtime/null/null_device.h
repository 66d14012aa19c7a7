// A device that executes nothing: the skeleton for a new backend, and the only backend of a build
// without others.
#pragma once

#include <memory>

#include "runtime/device/device.h"

namespace gpuemu {

/// Creates a device whose every call fails with Unsupported.
std::unique_ptr<Device> make_null_device();

}  // namespace gpuemu
