// Describes a device as cudaGetDeviceProperties does.
#pragma once

#include "bindings/libcudart/abi.h"

namespace gpuemu::libcudart {

/// Fills in the properties of an existing device, which are answers of the driver.
void fill_properties(DeviceProperties& properties, int device);

}  // namespace gpuemu::libcudart
