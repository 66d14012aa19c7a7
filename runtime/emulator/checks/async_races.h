// Tells the race detectors what asynchronous copies read and write, and when.
#pragma once

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// `lanes` of the copy read their source in global memory.
void note_source(Warp& warp, const AsyncCopy& copy, uint32_t lanes);
/// `lanes` of the copy write their bytes to shared memory now, when these arrive.
void note_arrival(Warp& warp, const AsyncCopy& copy, uint32_t lanes);

}  // namespace gpuemu::emulator
