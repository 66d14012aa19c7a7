// A device as requests tell it.
#pragma once

#include "common/protocol/daemon.gen.h"
#include "runtime/device/device.h"

namespace gpuemu {

DeviceInfo info_of(const DeviceProperties& device);
/// The architecture's number, as in 90 of "sm_90"; 0 for anything else.
int sm_of(const DeviceInfo& device);

}  // namespace gpuemu
