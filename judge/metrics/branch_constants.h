// Extracts the numbers in a kernel's code at which its behaviour may change.
#pragma once

#include <string>
#include <vector>

#include "judge/cases/dims.h"
#include "runtime/ptx/module.h"

namespace gpuemu {

/// Returns whole numbers from 2 to 65536 that the entries use to compare, divide or mask values
/// derived from a thread index or a parameter, and the dimensions of their shared tiles; as
/// `singled`, those that an unchanged parameter is tested to equal. Also the floats that they
/// compare or compute with, and the whole numbers with which they compare loaded values. At most 24
/// of each, ascending; smaller ones are preferred, because more dims can have them. As `classes`,
/// the sizes of size_predicates.h, and sizes with one element more than a block or than another of
/// the numbers. `blocks`: threads along x of each entry's block; 0 if unknown.
Constants constants_in(const ptx::Module& module, const std::vector<std::string>& entries,
                       const std::vector<uint32_t>& blocks = {});

}  // namespace gpuemu
