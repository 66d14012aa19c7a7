// A device that can do nothing: the skeleton of a backend, and what a build without any would use.
#pragma once

#include <memory>

#include "runtime/device/device.h"

namespace gpuemu {

/// Every call answers Unsupported.
std::unique_ptr<Device> make_null_device();

}  // namespace gpuemu
