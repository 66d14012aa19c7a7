// CU_DEVICE_ATTRIBUTE_*: what the programming guide says of the part, and what works here.
#pragma once

#include <optional>

#include "runtime/device/device.h"

namespace gpuemu::libcuda {

/// Nothing for a number that the header does not have.
std::optional<int> device_attribute(const DeviceProperties& device, int attribute);

}  // namespace gpuemu::libcuda
