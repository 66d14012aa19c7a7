// Finds kernels that wait for all blocks of their grid and have to be launched cooperatively.
#pragma once

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Whether it reads where the barrier of the grid lies, as this_grid().sync() does.
bool reads_grid_barrier(const Instruction& instruction);
/// Whether the function does, or one that it calls by name.
bool waits_for_grid(const Module& module, const Function& function);

}  // namespace gpuemu::ptx
