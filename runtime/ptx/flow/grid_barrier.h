// Finds kernels that wait for others: for all blocks of their grid, so that they have to be
// launched cooperatively, or for the host.
#pragma once

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Whether it reads where the barrier of the grid lies, as this_grid().sync() does.
bool reads_grid_barrier(const Instruction& instruction);
/// Whether the function does, or one that it calls by name.
bool waits_for_grid(const Module& module, const Function& function);
/// Whether it or a function that it calls by name reads memory that the host may change meanwhile:
/// volatile, or in the order of the whole system.
bool may_wait_for_host(const Module& module, const Function& function);

}  // namespace gpuemu::ptx
