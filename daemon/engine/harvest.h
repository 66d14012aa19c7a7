// The numbers in a kernel's code at which its behaviour may change.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu {

/// Whole numbers from 2 to 65536 with which the entries compare, divide or mask what follows from a
/// thread's index or a parameter, and the sizes of their tiles in shared memory. Ascending, at most
/// 24: the smaller ones, which more dims can be.
std::vector<int64_t> sizes_in(const ptx::Module& module, const std::vector<std::string>& entries);

}  // namespace gpuemu
