// What every backend checks in the same words before a launch.
#pragma once

#include <string>
#include <vector>

#include "runtime/device/device.h"

namespace gpuemu {

/// InvalidArgument naming what is wrong: argument count or sizes, grid, block or shared memory
/// beyond the limits of `properties`, .reqntid or .maxntid violated.
Status check_launch(const EntryInfo& entry, const LaunchConfig& config,
                    const DeviceProperties& properties);

/// The entry named `name`. NotFound lists the names there are, nearest first.
Result<EntryInfo> find_entry(const std::vector<EntryInfo>& entries, const std::string& name);

}  // namespace gpuemu
