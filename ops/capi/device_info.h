// Describes a device to C callers.
#pragma once

#include "ops/capi/op_call.h"
#include "runtime/device/device.h"

namespace gpuemu::opcall {

/// Fills in the members that fit the caller's struct_bytes. GPUEMU_INVALID_ARGUMENT if it is not
/// the size of any version.
gpuemu_code give_device(const DeviceProperties& device, gpuemu_device_info* info);

}  // namespace gpuemu::opcall
