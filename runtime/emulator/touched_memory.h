// Lists the bytes of global memory that a launch touched, read from the race detector's cells.
#pragma once

#include <vector>

#include "runtime/device/stream.h"
#include "runtime/emulator/machine/program.h"
#include "runtime/emulator/memory/allocation.h"

namespace gpuemu::emulator {

/// Empties the cells of the allocations, so that afterwards those of one launch alone are there.
void forget_cells(const std::vector<Allocation*>& of);

/// Reads the cells that a launch of `program` left. `of` is in the order of addresses. Several
/// accesses to different bytes of one word count as the last of them.
TouchedMemory touched_memory(const std::vector<Allocation*>& of, const Program& program);

}  // namespace gpuemu::emulator
