// Answers cuDeviceGetAttribute.
#pragma once

#include <optional>

#include "runtime/device/device.h"

namespace gpuemu::libcuda {

/// Returns the value of a CU_DEVICE_ATTRIBUTE_*: limits are those of the emulated part,
/// capabilities those of this library. Returns nothing for a number that cuda.h does not have.
std::optional<int> device_attribute(const DeviceProperties& device, int attribute);

}  // namespace gpuemu::libcuda
