// Finds reads of memory for the sake of what other threads write: loops that wait for a flag,
// counters that tell the last block, and loops that update a word by compare-and-swap.
#pragma once

#include <vector>

#include "runtime/ptx/flow/cfg.h"
#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Returns for each instruction of the body whether it is an ld or atom that a loop repeats at one
/// address until its result lets the loop end, or an atom that counts and whose result is compared
/// for equality with a register, as by the last block of a grid.
std::vector<bool> awaited_reads(const Function& function, const ControlFlow& flow);

}  // namespace gpuemu::ptx
