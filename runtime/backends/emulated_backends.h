// The devices that the emulator presents: one of sm_80, or what GPUEMU_EMULATED_DEVICES lists.
#pragma once

#include <string>
#include <vector>

#include "common/base/device_list.h"

namespace gpuemu {

/// What `listed` says; where that is "", what the environment says; one of sm_80 when it says
/// nothing. InvalidArgument names the part that is wrong.
Result<std::vector<EmulatedDevice>> emulated_devices(const std::string& listed);

/// Whether the environment wants a kernel's fault to lose the emulated device, as it loses a GPU.
/// InvalidArgument for what GPUEMU_EMULATOR_FAULTS may not be.
Result<bool> sticky_faults();

}  // namespace gpuemu
