// Tells which sizes a launch rounds up to whole blocks, and whether the kernel's text provides for
// threads of the last block that have no element.
#pragma once

#include <cstdint>
#include <string>

#include "cli/proposals/propose.h"

namespace gpuemu::cli {

/// Returns the elements of a block if the launch rounds `dim` up to whole blocks; otherwise 1.
int64_t block_of(const std::string& dim, const ProposedLaunch& launch);

/// Returns whether the text may keep threads away from elements behind `dim`: it compares the size,
/// or a variable computed from it, with anything but the counter of a loop that begins at a number,
/// or passes it to a function.
bool has_tail_check(const ProposedKernel& kernel, const std::string& dim);

}  // namespace gpuemu::cli
