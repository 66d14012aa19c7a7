// What a parsed module says about its entries, in the words of runtime/device.
#pragma once

#include <vector>

#include "runtime/device/device.h"
#include "runtime/ptx/module.h"

namespace gpuemu::cuda {

/// Static shared memory is left at zero: the driver knows it better.
std::vector<EntryInfo> entries_of(const ptx::Module& module);

}  // namespace gpuemu::cuda
