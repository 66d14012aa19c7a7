// A device as C callers see it.
#pragma once

#include "ops/capi/op_call.h"
#include "runtime/device/device.h"

namespace gpuemu::opcall {

/// The members that the caller's struct_bytes has room for; GPUEMU_INVALID_ARGUMENT for a struct
/// that no version of the header has.
gpuemu_code give_device(const DeviceProperties& device, gpuemu_device_info* info);

}  // namespace gpuemu::opcall
