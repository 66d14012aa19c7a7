// The numbers in a kernel's code at which its behaviour may change.
#pragma once

#include <string>
#include <vector>

#include "daemon/fuzz/dims.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// Whole numbers from 2 to 65536 with which the entries compare, divide or mask what follows from a
/// thread's index or a parameter, and the sizes of their tiles in shared memory; as singled out
/// those that a parameter as it is must equal. Ascending, at most 24
/// of each: the smaller ones, which more dims can be.
Constants sizes_in(const ptx::Module& module, const std::vector<std::string>& entries);

}  // namespace gpuemu
