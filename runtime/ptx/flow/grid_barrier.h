// Finds kernels that wait for all blocks of their grid, so that they need a cooperative launch, or
// for the host.
#pragma once

#include "runtime/ptx/module.h"

namespace gpuemu::ptx {

/// Returns whether it reads the address of the grid barrier, as this_grid().sync() does.
bool reads_grid_barrier(const Instruction& instruction);
/// Returns whether the function, or one that it calls by name, does so.
bool waits_for_grid(const Module& module, const Function& function);
/// Returns whether the function, or one that it calls by name, reads memory that the host may
/// change meanwhile: a volatile access, or one of system scope.
bool may_wait_for_host(const Module& module, const Function& function);

}  // namespace gpuemu::ptx
