// Words that a compare-and-swap changes, and the loads of what it compares with.
#pragma once

#include <vector>

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Returns for each instruction of the body whether it is an atom.cas.b32, or an ld of 32 bits at
/// the address of one that compares with what it reads.
std::vector<bool> words_of_cas(const Function& function);

}  // namespace gpuemu::ptx
