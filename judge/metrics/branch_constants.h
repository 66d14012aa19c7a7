// The numbers in a kernel's code at which its behaviour may change.
#pragma once

#include <string>
#include <vector>

#include "judge/cases/dims.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// Whole numbers from 2 to 65536 with which the entries compare, divide or mask what follows from a
/// thread's index or a parameter, and the sizes of their tiles in shared memory; as singled out
/// those that a parameter as it is must equal. Ascending, at most 24
/// of each: the smaller ones, which more dims can be. Also the floats that they compare or compute
/// with and the whole numbers with which they compare what they read, at most 24 of each. As
/// classes the sizes of size_predicates.h, and those with one element more than a block, or than
/// another of the numbers, has. `blocks` are the threads along x of a block of each entry; 0 where
/// that is not known.
Constants constants_in(const ptx::Module& module, const std::vector<std::string>& entries,
                       const std::vector<uint32_t>& blocks = {});

}  // namespace gpuemu
