// Checks that every backend makes before a launch, with the same messages.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/device/device.h"

namespace gpuemu {

/// InvalidArgument names what is wrong: the number or size of arguments; a grid, block or shared
/// memory beyond the limits of `properties`; a violation of .reqntid or .maxntid.
Status check_launch(const EntryInfo& entry, const LaunchConfig& config,
                    const DeviceProperties& properties);
/// The two halves of check_launch, for callers without a LaunchConfig.
Status check_shape(const EntryInfo& entry, const LaunchShape& shape,
                   const DeviceProperties& properties);
Status check_argument_count(const EntryInfo& entry, size_t given);
Status check_argument(const EntryInfo& entry, size_t index, size_t bytes);

/// Returns the registers that each entry of a PTX text uses on compute capability `sm`. Entries for
/// which the count is unknown are absent.
using RegisterCounter = std::function<std::map<std::string, int>(const std::string& ptx, int sm)>;
/// Returns whether the block could exceed the registers of a multiprocessor: it has too many
/// threads for the largest register count, and the entry declares no smaller block (.reqntid,
/// .maxntid).
bool may_lack_registers(const EntryInfo& entry, const LaunchShape& shape,
                        const DeviceProperties& properties);
/// InvalidArgument if a block of this shape needs more registers than the device has.
Status check_registers(const std::string& entry, int registers, const LaunchShape& shape,
                       const DeviceProperties& properties);

/// Returns the cluster size that the entry declares, else the one that the launch gives.
/// InvalidArgument if they disagree, the size is too large, or it does not divide the grid.
Result<Dim3> cluster_of(const EntryInfo& entry, const LaunchShape& config);

/// Finds the entry named `name`. NotFound lists the existing names, the nearest first.
Result<EntryInfo> find_entry(const std::vector<EntryInfo>& entries, const std::string& name);

}  // namespace gpuemu
