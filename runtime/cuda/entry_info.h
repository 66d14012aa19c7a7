// Converts the entries of a parsed module to the types of runtime/device.
#pragma once

#include <vector>

#include "runtime/device/device.h"
#include "runtime/ptx/module.h"

namespace gpuemu::cuda {

/// Static shared memory stays 0, because the driver reports it more exactly.
std::vector<EntryInfo> entries_of(const ptx::Module& module);

}  // namespace gpuemu::cuda
