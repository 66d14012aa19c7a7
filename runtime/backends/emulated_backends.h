// Lists the devices that the emulator presents: those of GPUEMU_EMULATED_DEVICES, by default one
// sm_80.
#pragma once

#include <string>
#include <vector>

#include "common/base/device_list.h"

namespace gpuemu {

/// Parses `listed`; if it is empty, GPUEMU_EMULATED_DEVICES; if that is unset, returns one sm_80.
/// InvalidArgument names the entry that is wrong.
Result<std::vector<EmulatedDevice>> emulated_devices(const std::string& listed);

/// Returns whether GPUEMU_EMULATOR_FAULTS asks that a fault makes the emulated device unusable, as
/// it does on a GPU. InvalidArgument for a value that the variable does not have.
Result<bool> sticky_faults();

}  // namespace gpuemu
