// What every backend checks in the same words before a launch.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/device/device.h"

namespace gpuemu {

/// InvalidArgument naming what is wrong: argument count or sizes, grid, block or shared memory
/// beyond the limits of `properties`, .reqntid or .maxntid violated.
Status check_launch(const EntryInfo& entry, const LaunchConfig& config,
                    const DeviceProperties& properties);
/// Its two halves, for who has no LaunchConfig.
Status check_shape(const EntryInfo& entry, const LaunchShape& shape,
                   const DeviceProperties& properties);
Status check_argument_count(const EntryInfo& entry, size_t given);
Status check_argument(const EntryInfo& entry, size_t index, size_t bytes);

/// Registers of each entry of a PTX text on a GPU of compute capability `sm`; without an entry that
/// nothing is known of.
using RegisterCounter = std::function<std::map<std::string, int>(const std::string& ptx, int sm)>;
/// Whether a block of this shape has more threads than would fit with the most registers that a
/// thread can have, and the entry does not promise the compiler a smaller one.
bool may_lack_registers(const EntryInfo& entry, const LaunchShape& shape,
                        const DeviceProperties& properties);
/// InvalidArgument when a block of threads with so many registers has more than there are.
Status check_registers(const std::string& entry, int registers, const LaunchShape& shape,
                       const DeviceProperties& properties);

/// The blocks of one cluster: what the entry declares or else the launch gives. InvalidArgument
/// when they disagree, are too many or do not divide the grid.
Result<Dim3> cluster_of(const EntryInfo& entry, const LaunchShape& config);

/// The entry named `name`. NotFound lists the names there are, nearest first.
Result<EntryInfo> find_entry(const std::vector<EntryInfo>& entries, const std::string& name);

}  // namespace gpuemu
