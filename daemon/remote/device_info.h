// The description of a device in requests.
#pragma once

#include "common/protocol/daemon.gen.h"
#include "runtime/device/device.h"

namespace gpuemu {

DeviceInfo info_of(const DeviceProperties& device);
/// Returns the number of the architecture, such as 90 for "sm_90"; 0 for anything else.
int sm_of(const DeviceInfo& device);

}  // namespace gpuemu
