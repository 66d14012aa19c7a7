// Reports the accesses of asynchronous copies to the race detectors.
#pragma once

#include "runtime/emulator/machine/warp.h"

namespace gpuemu::emulator {

/// Records that `lanes` of the copy read their source in global memory.
void note_source(Warp& warp, const AsyncCopy& copy, uint32_t lanes);
/// Records that the bytes of `lanes` arrive in shared memory now.
void note_arrival(Warp& warp, const AsyncCopy& copy, uint32_t lanes);

}  // namespace gpuemu::emulator
