// Lists the bytes of global memory that a launch accessed, from the race detector's cells.
#pragma once

#include <vector>

#include "runtime/device/stream.h"
#include "runtime/emulator/memory/allocation.h"
#include "runtime/emulator/program/program.h"

namespace gpuemu::emulator {

/// Clears the cells of the allocations, so that they afterwards hold those of a single launch.
void forget_cells(const std::vector<Allocation*>& of);

/// Reads the cells that a launch of `program` left. `of` is sorted by address. If several accesses
/// touched different bytes of one word, only the last is listed.
TouchedMemory touched_memory(const std::vector<Allocation*>& of, const Program& program);

}  // namespace gpuemu::emulator
